import fc from "fast-check";
import type { GenerationRequest, RequestInput } from "../../src/task/request.ts";
import {
  FIELD_NAMES,
  type FieldForm,
  type InputFields,
  type InputValue,
  type ProviderFields,
  REQUEST_FIELDS,
  type WireFields,
} from "../../src/task/request-fields.ts";

// Requests with any of the fields of the table, so that a new field is in every test that uses them.

type Values = Readonly<Record<FieldForm, fc.Arbitrary<InputValue<FieldForm>>>>;

/** Requests as they are sent, with this text for all texts in them. */
export function requests(text: fc.Arbitrary<string>): fc.Arbitrary<GenerationRequest> {
  const list = fc.oneof(text, fc.array(text, { maxLength: 2 }));
  const fields = someFields<WireFields>(text, list);
  return fc.tuple(fields, text, text).map(([rest, prompt, model]) => ({ ...rest, prompt, model }));
}

/** Drafts with this text for all texts but the prompt; what is a list has something in it. */
export function drafts(
  prompts: fc.Arbitrary<string>,
  text: fc.Arbitrary<string>,
): fc.Arbitrary<RequestInput> {
  const list = fc.array(text, { minLength: 1, maxLength: 3 });
  const fields = someFields<InputFields>(text, list);
  return fc.tuple(fields, prompts).map(([rest, prompt]) => ({ ...rest, prompt }));
}

const seeds = fc.oneof(fc.nat(), fc.bigInt(2n ** 53n, 2n ** 64n - 1n).map(String));

function pairs(text: fc.Arbitrary<string>): fc.Arbitrary<ProviderFields> {
  return fc.dictionary(
    fc.stringMatching(/^x_[a-z]{1,8}$/),
    fc.oneof(
      text,
      fc.integer(),
      fc.boolean(),
      fc.array(text),
      fc.record({ scale: fc.integer(), path: text }),
    ),
    { minKeys: 1, maxKeys: 3, noNullPrototype: true },
  );
}

function someFields<Fields extends InputFields | WireFields>(
  text: fc.Arbitrary<string>,
  texts: Values["texts"],
): fc.Arbitrary<Fields> {
  const values: Values = { text, number: fc.nat(), seed: seeds, texts, pairs: pairs(text) };
  const each = FIELD_NAMES.map((name) => fc.option(values[REQUEST_FIELDS[name]], { nil: undefined }));
  const fields = (drawn: unknown[]) =>
    FIELD_NAMES.flatMap((name, at) => (drawn[at] === undefined ? [] : [[name, drawn[at]]]));
  return fc.tuple(...each).map((drawn) => Object.fromEntries(fields(drawn)));
}
