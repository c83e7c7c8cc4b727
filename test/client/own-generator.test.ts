import path from "node:path";
import { describe, expect, it } from "vitest";
import { EffectiveSettings, type SettingFlags } from "../../src/client/effective-settings.ts";
import { requireKey } from "../../src/client/generator-settings.ts";
import { loadGenerator, loadUnconfiguredGenerator } from "../../src/client/targets/generator-setup.ts";
import type { Settings } from "../../src/store/settings-file.ts";

type Given = { flags?: Record<string, string>; env?: Record<string, string>; config?: Settings };

function settingsOf({ flags = {}, env = {}, config = {} }: Given) {
  const entries = Object.entries(flags).map(([name, value]) => [name, { value, label: `--${name}` }]);
  return new EffectiveSettings(env, () => config, Object.fromEntries(entries) as SettingFlags);
}

function opened(given: Given) {
  const settings = settingsOf(given);
  const setting = settings.generator();
  if (setting === undefined) throw new Error("no generator");
  return loadGenerator(setting, {
    settings,
    context: { env: given.env ?? {}, resolvePath },
    folders: { config: "/nowhere" },
  });
}

const resolvePath = (file: string): string => path.resolve("/work", file);

const GPUBOX = "http://gpubox:1234";

describe("which service a command uses", () => {
  const baseUrl = "https://service.example/api";

  it.each<[string, Given, string | undefined]>([
    [
      "a flag before a base URL in the environment",
      { flags: { generator: GPUBOX }, env: { IMGGEN_BASE_URL: baseUrl } },
      GPUBOX,
    ],
    [
      "the environment before the config's base URL",
      { env: { IMGGEN_GENERATOR: GPUBOX }, config: { baseUrl } },
      GPUBOX,
    ],
    [
      "a base URL in the environment before the config's generator",
      { env: { IMGGEN_BASE_URL: baseUrl }, config: { generator: GPUBOX } },
      undefined,
    ],
    ["the config's generator", { config: { generator: GPUBOX } }, GPUBOX],
    ["none", { config: { baseUrl } }, undefined],
  ])("%s", (_what, given, expected) => {
    expect(settingsOf(given).generator()?.value).toBe(expected);
  });

  it.each<Given>([
    { env: { IMGGEN_GENERATOR: GPUBOX, IMGGEN_BASE_URL: baseUrl } },
    { config: { generator: GPUBOX, baseUrl } },
  ])("is refused where one place names both: %j", (given) => {
    expect(() => settingsOf(given).generator()).toThrow(/Both .* are set/);
  });

  it("is refused where a flag is about a generator, and there is none", () => {
    const flags = { generatorModel: "flux" };
    expect(() => settingsOf({ flags, config: { baseUrl } }).generator()).toThrow(
      "for a generator, but no generator is set",
    );
  });
});

describe("how a generator is used", () => {
  it("by default", () => {
    expect(opened({ flags: { generator: GPUBOX } }).options).toEqual({
      keyVariable: "IMGGEN_GENERATOR_KEY",
      model: null,
      sidePx: 1024,
      sizeForm: null,
      concurrency: 1,
      timeoutMs: 600_000,
      defaults: { fields: {} },
      savedFields: { fields: {} },
      fieldNames: { seed: "seed", negative: "negative_prompt" },
      headers: {},
      isPaid: false,
      key: null,
    });
  });

  it("as flags and the config say, a field of a flag before the same of the config", () => {
    const flags = { field: '["steps=30","negative_prompt=no text, ever","hd=true"]', generatorSide: "512" };
    const config = {
      generator: GPUBOX,
      field: "seed=7 steps=20",
      generatorConcurrency: "2",
      generatorTimeout: "90s",
      generatorSize: "wxh",
      generatorModel: "flux",
    };
    expect(opened({ flags, config }).options).toMatchObject({
      model: "flux",
      sidePx: 512,
      sizeForm: "WxH",
      concurrency: 2,
      timeoutMs: 90_000,
      defaults: { fields: { steps: 30, negative_prompt: "no text, ever", hd: true } },
      savedFields: { fields: { seed: 7, steps: 20 } },
    });
  });

  it.each([
    ["field", "steps"],
    ["field", "prompt=another"],
    ["field", "n=4"],
    ["generatorSide", "0"],
    ["generatorConcurrency", "0"],
    ["generatorSize", "big"],
    ["generatorTimeout", "0"],
    ["generatorHeader", "api-key=sk-secret-1"],
    ["generatorHeader", "content-length=X"],
    ["generatorHeader", "api-key=NOT_SET"],
  ])("is refused with %s %s", (name, value) => {
    expect(() => opened({ flags: { generator: GPUBOX, [name]: value } })).toThrow(new RegExp(`--${name}`));
  });

  it("by what the config says only of the config's own generator", () => {
    const config = {
      generator: GPUBOX,
      generatorFree: "true",
      generatorModel: "flux",
      generatorHeader: "x-token=TOKEN",
    };
    const env = { TOKEN: "sesame", IMGGEN_GENERATOR: "https://images.example.com" };
    expect(opened({ env, config }).options).toMatchObject({ model: null, isPaid: true, headers: {} });
    expect(() => opened({ env: { TOKEN: "sesame" }, config })).toThrow("sent only to https://");
  });

  it("without what could cost money or give a secret away, where the config names no generator", () => {
    const config = { generatorFree: "true", generatorModel: "flux", generatorHeader: "x-token=TOKEN" };
    const flags = { generator: "https://images.example.com" };
    const { options } = opened({ flags, config, env: { TOKEN: "sesame" } });
    expect(options).toMatchObject({ model: "flux", isPaid: true, headers: {} });
  });
});

describe("whether its images are paid for", () => {
  it.each([
    ["openai", true],
    ["https://images.example.com", true],
    ["http://gpubox:1234", false],
    ["https://192.168.1.7/v1", false],
    ["sdapi:http://127.0.0.1:7860", false],
    ["command:/bin/paint {promptFile} {output}", false],
  ])("%s: %s", (generator, isPaid) => {
    expect(opened({ flags: { generator } }).options.isPaid).toBe(isPaid);
  });

  it("is the user's to say, and a flag goes before the config", () => {
    const config = { generator: GPUBOX, generatorPaid: "true" };
    expect(opened({ config }).options.isPaid).toBe(true);
    expect(opened({ config, flags: { generatorFree: "true" } }).options.isPaid).toBe(false);
    expect(() => opened({ config: { ...config, generatorFree: "true" } })).toThrow("both are set");
  });
});

describe("its key", () => {
  const ofOpenAi = { OPENAI_API_KEY: "sk-openai-1" };
  const stored = { generatorKey: "sesame", generatorKeyOrigin: "https://images.example.com" };
  const keyOf = (given: Given) => opened(given).options.key;

  it("is the variable's, before any other", () => {
    const env = { ...ofOpenAi, IMGGEN_GENERATOR_KEY: "sk-mine-1" };
    expect(keyOf({ flags: { generator: "openai" }, env, config: stored })).toBe("sk-mine-1");
  });

  it("of OpenAI goes to api.openai.com alone", () => {
    expect(keyOf({ flags: { generator: "openai" }, env: ofOpenAi })).toBe("sk-openai-1");
    for (const generator of ["https://images.example.com", "https://api.openai.com.example.com", GPUBOX])
      expect(keyOf({ flags: { generator }, env: ofOpenAi })).toBeNull();
  });

  it("that is stored goes to its own origin alone", () => {
    expect(keyOf({ flags: { generator: "https://images.example.com/v2" }, config: stored })).toBe("sesame");
    for (const generator of ["https://images.example.com:8443", "http://localhost:1234", "openai"])
      expect(keyOf({ flags: { generator }, config: stored })).toBeNull();
  });

  it("is not the service's", () => {
    const env = { IMGGEN_API_KEY: "sk-service-1", IMGGEN_GENERATOR: "https://images.example.com" };
    expect(keyOf({ env, config: { apiKey: "sk-service-2" } })).toBeNull();
  });

  it("is refused on an unencrypted network, and where it cannot be sent", () => {
    const env = { IMGGEN_GENERATOR_KEY: "sesame" };
    expect(() => opened({ flags: { generator: GPUBOX }, env })).toThrow("sent only to https://");
    expect(keyOf({ flags: { generator: "http://127.0.0.1:1234" }, env })).toBe("sesame");
    const broken = { IMGGEN_GENERATOR_KEY: "sesame\r\nx-evil: 1" };
    expect(() => opened({ flags: { generator: "openai" }, env: broken })).toThrow("cannot be sent");
  });

  it("is none for a command", () => {
    const generator = "command:/bin/paint {promptFile} {output}";
    expect(keyOf({ flags: { generator }, env: { IMGGEN_GENERATOR_KEY: "sesame" } })).toBeNull();
  });

  it("is needed for OpenAI", () => {
    const own = opened({ flags: { generator: "openai" } });
    expect(() => requireKey(own)).toThrow("No key for OpenAI");
  });

  it("for a stored task's generator is only one that is bound to it", () => {
    const env = { ...ofOpenAi, IMGGEN_GENERATOR_KEY: "sk-mine-1" };
    const source = {
      settings: settingsOf({ env, config: stored }),
      context: { env, resolvePath },
      folders: { config: "/nowhere" },
    };
    expect(loadUnconfiguredGenerator("openai", source).options.key).toBe("sk-openai-1");
    expect(loadUnconfiguredGenerator("openai:https://images.example.com/v1", source).options.key).toBe(
      "sesame",
    );
    expect(loadUnconfiguredGenerator("openai:https://other.example.com/v1", source).options.key).toBeNull();
  });
});

describe("a workflow", () => {
  const generator = "comfyui:http://gpubox:8188";

  it("is a file of the working folder, by its flag or the config of that generator", () => {
    const byFlag = opened({ flags: { generator, workflow: "fox.json" } });
    expect(byFlag.options.workflow).toEqual({ path: "/work/fox.json", label: "--workflow fox.json" });
    const byConfig = opened({ config: { generator, workflow: "/home/ada/fox.json" } });
    expect(byConfig.options.workflow).toMatchObject({ label: "workflow fox.json from config.json" });
    expect(opened({ flags: { generator } }).options.workflow).toBeUndefined();
  });

  it("is refused by its flag for another generator; in the config it stops no task of that generator", () => {
    expect(() => opened({ flags: { generator: GPUBOX, workflow: "fox.json" } })).toThrow(
      "--workflow is for a ComfyUI server.",
    );
    expect(opened({ config: { generator: GPUBOX, workflow: "fox.json" } }).options.workflow).toBeUndefined();
  });

  it("has inputs that fields name by a node's id or title", () => {
    const field = JSON.stringify(["3.steps=8", "Load Checkpoint.ckpt_name=a b.ckpt", "CFG (v1.5).value=2"]);
    expect(opened({ flags: { generator, field } }).options.defaults.fields).toEqual({
      "3.steps": 8,
      "Load Checkpoint.ckpt_name": "a b.ckpt",
      "CFG (v1.5).value": 2,
    });
    for (const wrong of ["3=8", ".steps=8", "3.=8", "3.a b=8"])
      expect(() => opened({ flags: { generator, field: JSON.stringify([wrong]) } })).toThrow(/valid name/);
  });
});
