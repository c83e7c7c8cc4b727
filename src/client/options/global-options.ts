import { type Option, type Options, option } from "./option.ts";

/** Options of all commands. A command refuses options that it cannot use. */
export const GLOBAL = {
  json: option("flag", "--json", "print exactly one JSON document on standard output"),
  quiet: option("flag", "--quiet", "print only errors on standard error"),
  verbose: option("flag", "--verbose", "log HTTP requests"),
  color: option("on", "--no-color", "disable colours"),
  profile: option("text", "--profile <name>", "use the account and settings of this profile", {
    suggestions: "profile",
  }),
  sandbox: option("flag", "--sandbox", "use the embedded sandbox instead of the service (free, no account)"),
} satisfies Options;

type SettingKind = "text" | "whole" | "duration" | "path" | "texts" | "flag";

const setting = <Kind extends SettingKind>(
  kind: Kind,
  flag: string,
  help: string,
  more: Pick<Option, "choices"> = {},
) => option(kind, flag, help, { ...more, isSetting: true });

export const SIZE_FORMS = ["WxH", "width,height", "aspect_ratio"] as const;

/** Options for the user's generator, by the names of the settings that they override. */
export const GENERATOR = {
  generator: setting(
    "text",
    "--generator <spec>",
    "use your own generator instead of the service (imggen help generators)",
  ),
  generatorModel: setting("text", "--generator-model <model>", "the generator's model if --model is not set"),
  generatorSide: setting(
    "whole",
    "--generator-side <px>",
    "longest side of images of quality 1K or no quality, in pixels (default: 1024)",
  ),
  generatorSize: setting(
    "text",
    "--generator-size <form>",
    "how the size of images is sent: WxH, width,height or aspect_ratio",
    { choices: SIZE_FORMS },
  ),
  generatorConcurrency: setting(
    "whole",
    "--generator-concurrency <n>",
    "requests in flight at once, over all imggen processes (default: 1)",
  ),
  generatorTimeout: setting(
    "duration",
    "--generator-timeout <duration>",
    "how long one image may take (default: 10m)",
  ),
  field: setting(
    "texts",
    "-f, --field <name=value>",
    "add a field to every request, such as steps=20; repeat it for several",
  ),
  fieldJson: setting(
    "texts",
    "--field-json <name=json>",
    "add a field whose value is an object or a list, in JSON; repeat it for several",
  ),
  generatorHeader: setting(
    "texts",
    "--generator-header <name=ENV>",
    "add a header with the value of an environment variable; repeat it for several",
  ),
  workflow: setting(
    "path",
    "--workflow <path>",
    "ComfyUI workflow: a JSON file from Export (API), or a PNG that ComfyUI saved",
  ),
  generatorPaid: setting("flag", "--generator-paid", "treat the generator as paid: no request is sent twice"),
  generatorFree: setting("flag", "--generator-free", "treat the generator as free"),
  price: setting("whole", "--generator-price <credits>", "price of each image of the generator, in credits"),
} satisfies Options;
