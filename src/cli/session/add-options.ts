import { type Command, Option as ParserOption } from "commander";
import type { Option, Options } from "../../client/options/option.ts";
import { parseFlag } from "../../client/options/option-kinds.ts";
import { withHelpHint } from "./command.ts";

/** An option of the parser, created from a row of an option table. The parsed value has the name of the row. */
export class TableOption extends ParserOption {
  readonly row: Option;
  readonly #name: string;

  constructor(name: string, row: Option) {
    super(row.flag ?? "", row.help);
    this.#name = name;
    this.row = row;
  }

  override attributeName(): string {
    return this.#name;
  }
}

export function isRepeatable({ kind }: Option): boolean {
  return kind === "texts" || kind === "images" || kind === "list";
}

/** @param heading heading in the help for flags that have no group */
export function addOptions(command: Command, table: Options, heading?: string): Command {
  for (const [name, row] of Object.entries(table)) {
    const option = new TableOption(name, row);
    const group = row.group ? `${row.group}:` : heading;
    if (group !== undefined) option.helpGroup(group);
    if (option.required) {
      option.argParser((text, earlier) => {
        try {
          const value = parseFlag(row, text);
          return isRepeatable(row) ? [earlier ?? [], value].flat() : value;
        } catch (error) {
          throw withHelpHint(command, error);
        }
      });
    }
    command.addOption(option);
  }
  return command;
}
