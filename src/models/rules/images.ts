import { describeRangeProblem } from "../../lib/whole-number.ts";
import { action, phrase } from "../../lib/wording.ts";
import { findModels } from "../find.ts";
import { MAX_IMAGES, type Matrix, type Model, type References } from "../matrix.ts";
import { ignoresMaxImages } from "../wire.ts";
import { modelList, orModelsThat, quoteUrl, type Rule, refuse, removalAdvice, warning } from "./rule.ts";

const HOST_AND_PORT = /^[^/?#]+:\d+(?:[/?#]|$)/;
const WINDOWS_DRIVE = /^[a-z]:/i;
/** Excludes `https:host` and `https:///host`, because programs disagree on the host of such URLs. */
const FETCHABLE_URL = /^(?:https?:\/\/[^/\\]|data:)/i;

/** Checks the number of reference images (sections 2.2, 2.4 and 8). */
export const imageCount: Rule = (subject) => {
  const { input, model, matrix, labels } = subject;
  const count = input.image?.length ?? 0;
  if (model.references === null) return undefined;
  const { min, max } = model.references;
  if (count < min) {
    const message = `${labels.image} is missing: ${model.id} needs ${neededImages(model.references)}`;
    return refuse(message, orModelsThat("need no image", modelsSupporting(0, matrix), "give an image's URL"));
  }
  if (max === null || count <= max) return undefined;
  const take = `take ${count === 1 ? "an image" : `${count} images`}`;
  if (max === 0) {
    const message = `${labels.image} cannot be used: ${model.id} takes no reference images`;
    return refuse(
      message,
      orModelsThat(take, modelsSupporting(count, matrix), removalAdvice("image", subject)),
    );
  }
  const message = `${labels.image} is given ${count} times: ${model.id} takes at most ${max} reference images`;
  return refuse(message, orModelsThat(take, modelsSupporting(count, matrix)) || `give at most ${max}`);
};

/** Checks that each reference image is a URL that the service supports (section 2.2), or a file to upload. */
export const imageUrls: Rule = ({ input, labels, uploads }) => {
  const value = input.image?.find((image) => !isRemoteUrl(image.trim()) && !(uploads && isLocalFile(image)));
  if (value === undefined) return undefined;
  if (uploads === false && isLocalFile(value)) {
    return refuse(
      `${labels.image} ${quoteUrl(value)} is a file on this machine, and the service takes https:// URLs`,
      [
        phrase`set a command that uploads it and prints its URL: ${action("run", "config set uploadCommand '<command with {file}>'")}`,
        phrase`\nExamples: ${action("help", "uploads")}`,
      ],
    );
  }
  return refuse(
    `${labels.image} ${quoteUrl(value)} is not an http(s) URL: the service fetches reference images from the web`,
    "put the image where the service can fetch it, and give its whole URL (https://…)",
  );
};

/** Checks URLs for models that fetch over HTTPS only (sections 2.2 and 8). */
export const imagesOverHttps: Rule = ({ input, model, matrix, labels, uploads }) => {
  const images = input.image ?? [];
  if (model.references?.httpsOnly !== true) return undefined;
  const value = images.find((image) => !/^https:/i.test(image.trim()) && !(uploads && isLocalFile(image)));
  if (value === undefined) return undefined;
  const alternatives = modelsSupporting(images.length, matrix).filter(
    (other) => other.references?.httpsOnly === false,
  );
  return refuse(
    `${labels.image} ${quoteUrl(value)}: ${model.id} takes https:// URLs only`,
    orModelsThat("take other URLs", alternatives, "give an https:// URL"),
  );
};

/** Whether a reference image is a file on this machine, given as a path or `file:` URL. */
export function isLocalFile(image: string): boolean {
  const text = image.trim();
  if (text === "" || text === "-") return false;
  if (WINDOWS_DRIVE.test(text) || /^file:/i.test(text)) return true;
  return !HOST_AND_PORT.test(text) && !/^[a-z][a-z\d+.-]*:/i.test(text);
}

function neededImages({ min, max }: References): string {
  return max === null ? `at least ${min} reference image` : `${min} to ${max} reference images`;
}

function modelsSupporting(count: number, matrix: Matrix): Model[] {
  return findModels({ references: count }, matrix).matching;
}

/** Whether a text is a URL that the service can fetch, or a `data:` URL, which contains the image. */
export function isRemoteUrl(text: string): boolean {
  return FETCHABLE_URL.test(text) && URL.canParse(text);
}

/** Checks the number of images against the general limits and the model's limit (sections 2.2, 2.4 and 2.5). */
export const maxImages: Rule = (subject) => {
  const { input, model, matrix, labels } = subject;
  const value = input.maxImages;
  if (value === undefined) return undefined;
  const setting = `${labels.maxImages} ${value}`;
  const { min, max } = MAX_IMAGES;
  if (!Number.isInteger(value) || value < min || value > max)
    return refuse(
      `${setting}${describeRangeProblem(value, MAX_IMAGES)}`,
      `use a number from ${min} to ${max}`,
    );
  if (ignoresMaxImages(input, model))
    return warning(`${setting} is left out: ${model.id} always makes one image`);
  if (model.maxImages === null || value <= model.maxImages) return undefined;
  const modelNames = modelList(matrix.filter((other) => (other.maxImages ?? 0) >= value));
  const limit = model.maxImages === 1 ? "only one image" : `at most ${model.maxImages} images`;
  const hint = modelNames === "" ? `no model makes ${value}` : `models that make ${value}: ${modelNames}`;
  return refuse(`${setting}: ${model.id} makes ${limit}`, `${removalAdvice("maxImages", subject)}; ${hint}`);
};
