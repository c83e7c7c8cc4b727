import { beforeAll, describe, expect, it } from "vitest";
import { findCompletions } from "../../../src/cli/completion/offer.ts";
import type { CompletionSources } from "../../../src/cli/completion/values.ts";
import type { Description } from "../../../src/cli/help/command-tree.ts";
import { MODELS } from "../../../src/models/matrix.ts";
import { mergeMatrix } from "../../../src/models/matrix-file/read-matrix.ts";
import { SETTING_NAMES } from "../../../src/store/settings-table.ts";
import { describedProgram } from "../../support/description.ts";

let tree: Description;
beforeAll(async () => {
  tree = await describedProgram();
});

const TASKS = ["task_1", "task_2"].map((value) => ({ value, description: "a fox" }));

/** What is offered at the end of a line; `asked` says which tasks were looked for. */
async function at(line: string, matrix = MODELS) {
  const words = line.split(" ");
  const current = words.pop() ?? "";
  const asked: string[] = [];
  const findTasks: CompletionSources["findTasks"] = async (which) => {
    asked.push(which);
    return TASKS;
  };
  const { paths, candidates } = await findCompletions(words, current, {
    tree,
    findTasks,
    findModels: async () => matrix,
    findProfiles: async () => ["home", "work"],
  });
  return { paths, values: candidates.map(({ value }) => value), asked };
}

const values = async (line: string) => (await at(line)).values;

describe("completion offers", () => {
  it("commands, with what they do", async () => {
    expect(await values("")).toEqual(tree.command.commands.map(({ name }) => name));
    expect(await values("re")).toEqual(["rerun", "resume"]);
    expect(await values("help ba")).toEqual(["batch"]);
    expect(await values("--sandbox gen")).toEqual(["generate"]);
  });

  it("the subcommands of config, the names of settings, and what each setting takes", async () => {
    expect(await values("config ")).toEqual(["list", "get", "set", "unset", "path"]);
    for (const verb of ["get", "set", "unset"])
      expect(await values(`config ${verb} `)).toEqual(SETTING_NAMES);
    expect(await values("config set model gamma-image-2-5-s")).toEqual(["gamma-image-2-5-sunburst-text"]);
    expect(await values("config set quality ")).toContain("2K");
    expect(await values("config set dailyCredits ")).toEqual([]);
    expect(await values("config get model ")).toEqual([]);
  });

  it("flags that were not given yet; repeatable ones again, none after --", async () => {
    const flags = await values("generate --model z-image -q 2K --image a.png --");
    expect(flags).toEqual(expect.arrayContaining(["--ratio", "--image", "--json"]));
    expect(flags.filter((flag) => flag === "--model" || flag === "--quality")).toEqual([]);
    expect(await values("generate --dr")).toEqual(["--dry-run"]);
    expect(await values("generate -- --dr")).toEqual([]);
  });

  it("model ids, by the part after the slash too", async () => {
    expect(await values("generate --model ")).toEqual(MODELS.map(({ id }) => id));
    expect(await values("generate -m gamma-image-2-5-f")).toHaveLength(2);
    expect(await values("generate -m alpha-2")).toEqual(["alpha-2"]);
    expect(await values("models z")).toEqual(["z-image"]);
  });

  it.each(["-m z-image", "--model z-image", "--model=z-image", "-mz-image", "-m Z-Image"])(
    "only the ratios and qualities that the model takes, however it is given: %s",
    async (model) => {
      const { ratios } = MODELS.find(({ id }) => id === "z-image") ?? {};
      expect(await values(`generate ${model} --ratio `)).toEqual(ratios);
      expect(await values(`generate fox ${model} --quality `)).toEqual([]);
    },
  );

  it("models of a matrix file, and what they take", async () => {
    const added = mergeMatrix([{ id: "new/one", ratios: ["5:7"], defaultRatio: "5:7" }]);
    expect((await at("generate -m new", added)).values).toEqual(["new/one"]);
    expect((await at("generate -m one -r ", added)).values).toEqual(["5:7"]);
  });

  it("no word of a service or a file that a shell or a command would read something into", async () => {
    const ids = [
      "$(id)",
      "`id`",
      "a;id",
      "a'b",
      "a b",
      "~root",
      "=ls",
      "-o",
      "--output",
      "a\tb",
      "a\u202eb",
      "#a",
      "{a}",
      "a*",
    ];
    const matrix = [...ids, "größe/1.5-a_b@2+c"].flatMap((id) =>
      MODELS.slice(0, 1).map((model) => ({ ...model, id })),
    );
    expect((await at("models ", matrix)).values).toEqual(["größe/1.5-a_b@2+c"]);
  });

  it("every ratio and quality where no model is chosen, or its own are not documented", async () => {
    for (const model of ["", "-m beta/5-lite-text-to-image ", "-m unknown "]) {
      expect(await values(`generate ${model}-r 27`)).toEqual(["27:16"]);
      expect(await values(`generate ${model}-q 2`)).toEqual(["2K"]);
    }
  });

  it("what any of several models takes, and each of a list once", async () => {
    expect(await values("compare fox -m z-image,gamma-image-2 -q ")).toEqual(["1K", "2K", "4K"]);
    expect(await values("compare fox -m gamma-image-2 -q 1K,")).toEqual(["1K,2K", "1K,4K"]);
    expect(await values("compare fox -m gamma-image-2,z")).toEqual(["gamma-image-2,z-image"]);
  });

  it("profiles, before a command as after it", async () => {
    expect(await values("--profile ")).toEqual(["home", "work"]);
    expect(await values("--profile work gen")).toEqual(["generate"]);
    expect(await values("generate --profile=w")).toEqual(["--profile=work"]);
  });

  it("a flag and its value as one word, where they are one", async () => {
    expect(await values("generate --model=z")).toEqual(["--model=z-image"]);
    expect(await values("history --status=unf")).toEqual(["--status=unfinished"]);
    expect(await values("generate --nope=")).toEqual([]);
  });

  it("tasks that are not named yet: the unfinished to resume, all to the others", async () => {
    expect(await at("resume ")).toEqual({
      paths: "none",
      values: ["task_1", "task_2"],
      asked: ["unfinished"],
    });
    expect(await at("status task_1 ")).toEqual({ paths: "none", values: ["task_2"], asked: ["all"] });
    expect(await at("rerun ")).toMatchObject({ paths: "files", values: ["task_1", "task_2"] });
    expect(await at("generate ")).toMatchObject({ asked: [] });
  });

  it("files where a flag or argument takes a path, folders where it takes a folder", async () => {
    for (const line of ["generate -o ", "generate --prompt-file="])
      expect(await at(line)).toMatchObject({ paths: "files", values: [] });
    expect(await at("batch pro")).toMatchObject({ paths: "manifests", values: [] });
    for (const line of ["batch -o ", "compare fox --output "])
      expect(await at(line)).toMatchObject({ paths: "folders", values: [] });
  });

  it("nothing for a prompt, a number or a URL", async () => {
    for (const line of ["generate ", "generate --max-credits ", "login --base-url ", "nope "])
      expect(await at(line)).toEqual({ paths: "none", values: [], asked: [] });
  });
});
