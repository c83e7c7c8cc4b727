import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { PICTURE } from "../support/images.ts";
import { liveServer } from "../support/live-server.ts";
import { SAVED, serviceWorld } from "../support/program-world.ts";
import { recipe } from "../support/recipe.ts";
import { response } from "../support/scripted-server.ts";
import { hasTool } from "../support/tools.ts";

const URL_OF_IT = "https://my-bucket.example/references/1?signature=ab";

/** A world with an image, and a folder of commands that comes first in PATH. */
async function world() {
  const { world: made } = await serviceWorld();
  await writeFile(path.join(made.folder, "fox.png"), PICTURE);
  const bin = path.join(made.folder, "bin");
  await mkdir(bin);
  const install = async (name: string, text: string) => {
    await writeFile(path.join(bin, name), text);
    await chmod(path.join(bin, name), 0o755);
  };
  const flags = ["-m", "gamma-image-2", "--image", path.join(made.folder, "fox.png")];
  const generate = (IMGGEN_UPLOAD_COMMAND: string) =>
    made.generate(flags, { env: { IMGGEN_UPLOAD_COMMAND, PATH: `${bin}:${process.env.PATH}` } });
  const imageSent = () => JSON.parse(made.server?.submits()[0]?.body ?? "{}").image;
  return { made, bin, install, generate, imageSent };
}

it.each([
  [
    "help/uploads",
    "Amazon S3",
    "aws",
    /^s3 cp --only-show-errors \/.*fox\.png (s3:\/\/my-bucket\/references\/\S+)\ns3 presign \1 --/,
  ],
  [
    "uploads",
    "rclone",
    "rclone",
    /^copyto \/.*fox\.png (s3:my-bucket\/references\/\S+)\nlink \1 --expire 7d\n$/,
  ],
])("the script in %s for %s uploads a file and prints its URL", async (page, heading, tool, calls) => {
  const { made, bin, install, generate, imageSent } = await world();
  const log = path.join(made.folder, "calls.log");
  await install(
    tool,
    `#!/bin/sh\necho "$*" >> '${log}'\ncase "$*" in *presign*|link*) echo '${URL_OF_IT}';; esac\n`,
  );
  await install("upload", await recipe(page, heading));
  const run = await generate(`${bin}/upload {file}`);
  expect(await made.aftermath(run)).toMatchObject(SAVED);
  expect(imageSent()).toBe(URL_OF_IT);
  expect(await readFile(log, "utf8")).toMatch(calls);
});

it("curl alone does, where the server answers with the URL", async (test) => {
  test.skip(!hasTool("curl"), "curl is not installed");
  const files = await liveServer((_request, socket) => void socket.write(response(200, `${URL_OF_IT}\n`)));
  const { made, generate, imageSent } = await world();
  const [, command = ""] = /'(curl .*)'/.exec(await recipe("help/uploads")) ?? [];
  const run = await generate(command.replace("https://files.example.com", files.origin));
  expect(await made.aftermath(run)).toMatchObject(SAVED);
  expect(imageSent()).toBe(URL_OF_IT);
  expect(files.requests[0]?.body).toContain('filename="fox.png"');
});
