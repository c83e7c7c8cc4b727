import { expect, it } from "vitest";
import { batchWorld } from "../../support/batch-world.ts";
import { words } from "../../support/words.ts";

const PAINT = '"command:/bin/paint {promptFile} {output}"';

/** A command line that nothing can be meant by, and what is said of it. */
const REFUSED: readonly [line: string, said: RegExp][] = [
  ["generate fox -n x", /1 to 15/],
  ["generate fox -n 1.5", /1 to 15/],
  ["generate fox -n 16", /1 to 15/],
  ["generate fox --timeout soon", /^(?!.*imggen --help)/s],
  ["generate fox --again --reuse", /reuse and again cannot be used together/],
  [`generate fox -o ${"x".repeat(253)}`, /longer than 255 bytes/],
  [
    "generate fox --progress xml",
    /^error: --progress "xml" is neither auto nor json\.\n {2}See imggen generate --help\./,
  ],
  ["generate fox -m z-image -o - --sidecar", /not support a sidecar/],
  ["generate fox -m z-image -o - --no-wait", /cannot be combined with --no-wait/],
  ["generate fox -m vendor2/beta-v4 -o -", /supports only one image/],
  ["generate fox -m gamma-image-2 -q 1K --max-credits 1 --dry-run", /costs 2 credits/],
  ["generate a red fox", /quote/],
  ["generate", /No prompt was given\./],
  ["generate fox --prompt-file p.txt", /The prompt was given twice/],
  ["generate - --prompt-file p.txt", /The prompt was given twice/],
  ["generate --prompt-file missing.txt", /missing\.txt/],
  ["generate --prompt-file .", /it is a folder/],
  ...["", "--sandbox", "--no-validate"].flatMap((where): [string, RegExp][] => [
    [`generate fox --seed 7 ${where}`, /: --seed cannot be used: the service does not support it/],
    [`generate fox --negative x ${where}`, /: --negative cannot be used: the service does not support it/],
  ]),
  ["generate fox -f steps=20", /^error: --field is for a generator/],
  ["generate fox -f steps=20 --sandbox", /^error: --field is for a generator/],
  // What each generator has no field for.
  ...[
    ["openai", "--seed 7"],
    ["https://fox.openai.azure.com/openai/v1", "--seed 7"],
    ["https://api.x.ai/v1", "--negative x"],
    ["gemini", "--seed 7"],
    ["bfl", "--negative x"],
  ].map(([spec, flag]): [string, RegExp] => [
    `generate fox --generator ${spec} -m any --dry-run ${flag}`,
    /: --(seed|negative) cannot be used: this generator has no field for a/,
  ]),
  ["generate fox --generator http://127.0.0.1:9 -m flux --no-wait", /imggen serve --generator/],
  ["generate fox --generator bfl --dry-run", /Add --model <name>/],
  [`generate fox --generator ${PAINT} --model flux --dry-run`, /does not support a model/],
  // What other programs call it.
  ["generate fox --steps 20", /--field steps=20/],
  ["generate fox --cfg 20", /--field cfg_scale=7/],
  ["generate fox --size 20", /--ratio and --quality/],
  ["generate fox --width 20", /--generator-side/],
  ["generate fox --n 20", /--max-images/],
  ["generate fox --negative-prompt 20", /--negative <text>/],
  ["generate fox --generator-field 20", /--field <name=value>/],
  ["batch p.docx", /p\.docx/],
  ["batch .", /\. is a folder, not a manifest\./],
  ["batch missing.txt", /missing\.txt/],
  ["batch p.txt --output -", /--output/],
  ["batch p.txt --name {colour}", /--name/],
  ["batch p.txt --shard 5/4 --dry-run", /--shard/],
  ["batch p.txt --concurrency 0", /--concurrency[\s\S]*See imggen batch --help\./],
  ["batch p.txt --max-credits some", /--max-credits/],
  ["batch p.txt --timeout soon", /--timeout/],
  ["compare fox -m gama-image-2,z-image", /the nearest are gamma-image-2,/],
  ["compare fox -m z-image -r 1:1,99:1", /99:1 is not documented by the service/],
  ["compare fox -m z-image -r 1:1,wide", /wide is neither/],
  ["compare fox -m gamma-image-2 -q 1K,5K", /5K is not a quality of the service/],
  ["compare fox -m z-image -r 21:9", /z-image takes only/],
  ["compare fox -m z-image --seed 1,2", /--seed cannot be used: the service does not support it/],
  ["rerun p.png --seed 1,2", /imggen generate <prompt> --seed 1,2/],
  ...["", " , "].flatMap((empty): [string, RegExp][] => [
    [`compare fox -m "${empty}"`, /--model is empty\./],
    [`compare fox -r "${empty}"`, /--ratio is empty\./],
    [`compare fox -q "${empty}"`, /--quality is empty\./],
  ]),
  ["status task-1 -o -", /--output - is supported only by generate/],
  ["resume task-1 -o -", /--output - is supported only by generate/],
  ["gallery -o -", /does not support --output -/],
  ["resume --dismiss", /needs task ids/],
  ["cancel task-9", /The ledger has no task "task-9"\./],
  ["show p.txt --size wide", /--size "wide" is invalid/],
  ["show p.txt --size 0", /--size "0" is invalid/],
  ['status ""', /A task id is empty/],
  ['resume ""', /A task id is empty/],
  ["history --limit 0", /at least 1\./],
  [
    "history --status lost",
    /^error: --status "lost" is none of completed, unfinished, waiting, running, accepted, made, unknown, failed, cancelled\./,
  ],
  ["history --since soon", /neither a date nor an age/],
  ["history --summary --limit 3", /does not support --limit/],
  ["models --ratio 1x1", /Write it as 1:1/],
  ["models --ratio banana", /Write it as width:height/],
  ["models --quality 3K", /use one of basic, high, 1K, 2K, 4K/i],
  ["models --kind video", /none of text, text-to-image, edit, image-to-image/],
  ["models --references -1", /at least 0\./],
  ["models --references many", /See imggen models --help\./],
  [
    "models z-imag",
    /^error: There is no model "z-imag"; the nearest is z-image\.\n {2}To see all models: imggen models$/m,
  ],
  ["config set colour red", /no setting "colour"\.\n {2}Settings: apiKey /],
  ["config set constructor x", /no setting "constructor"/],
  ["config set apiKey sk-canary-that-works", /^(?!.*that-works)/s],
  ["config set baseUrl http://service.example/api", /must begin with https:/],
  ["config set baseUrl nonsense", /is not a URL/],
  ["config set ratio wide", /neither width:height/],
  ["config set ratio 99:1", /not documented/],
  ["config set quality 8K", /not a quality/],
  ["config set timeout soon", /not a duration/],
  ["config set timeout 0", /more than 0/],
  ["config set confirmAbove much", /See imggen config set --help\./],
  ['config set model " "', /not a known model/],
  ["config set model gama", /^(?!.*--no-validate).*the nearest are gamma-image-2,/s],
  ["config set uploadCommand upload", /has no \{file\}/],
  ["config set generator comfyui", /"comfyui" is not a generator/],
  ["config set generatorSide huge", /not a whole number \(64 to 8192\)/],
  ["config set field steps", /"steps" must be like steps=20/],
  ["config set generatorHeader api-key", /must be like api-key=AZURE_OPENAI_KEY/],
  ["config set generatorPaid yes", /must be true or false/],
  ["config set", /See imggen config set --help\./],
  ["config set ratio", /See imggen config set --help\./],
  ["config get", /See imggen config get --help\./],
  ["config unset", /See imggen config unset --help\./],
  [
    "login sk-given-as-a-word",
    /^(?!.*given-as-a-word).*The API key is never an argument, because other users can/s,
  ],
  ["login --key sk-canary-x", /Unknown option '--key'/],
  ...["=Work", "=../work", ' "a b"', "=-", "=con/fig", "="].map((name): [string, RegExp] => [
    `login --no-verify --profile${name}`,
    /is not a valid profile name/,
  ]),
  ["serve", /No generator was given\.\n.*--generator/],
  [`serve --generator ${PAINT} --port 65536`, /at most 65535\./],
  [`serve --generator ${PAINT} --grace soon`, /not a duration/],
  ["sandbox --port 65536", /at most 65535\./],
  ["sandbox --latency soon", /not a duration/],
  ["sandbox --credits -1", /at least 0\./],
];

it.each(REFUSED)("%s is refused: exit 2, nothing sent and nothing written", async (line, said) => {
  const world = await batchWorld();
  await world.manifest("p.txt", "a fox");
  const before = await world.listing();
  const { code, stdout, stderr } = await world.run(words(line), { input: "" });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(/^error: /);
  expect(stderr).toMatch(said);
  const json = await world.json(words(line), { input: "" });
  expect(json.document).toMatchObject({
    ok: false,
    error: { type: expect.stringMatching(/^(usage|invalid_request|budget_exceeded)$/), exitCode: 2 },
    charged: "no",
  });
  expect([json.code, json.stderr]).toEqual([2, ""]);
  expect(world.server.requests).toEqual([]);
  expect(await world.listing()).toEqual(before);
});
