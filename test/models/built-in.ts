import * as check from "../../src/models/check-request.ts";
import * as find from "../../src/models/find.ts";
import { MODELS } from "../../src/models/matrix.ts";
import type { RequestInput } from "../../src/task/request.ts";

// What the service's document says is tested with the built-in models.

export const checkRequest = (input: RequestInput, options?: check.CheckOptions) =>
  check.checkRequest(input, MODELS, options);

export const resolveModel = (name: string) => find.resolveModel(name, MODELS);

export const nearestModels = (name: string, count?: number) => find.nearestModels(name, MODELS, count);

export const findModels = (filter: find.ModelFilter) => find.findModels(filter, MODELS);
