// Decides on colours: on for terminals unless configured otherwise (no-color.org, CLICOLOR_FORCE).

type Environment = Readonly<Record<string, string | undefined>>;

export type ColorChoice = "auto" | "always" | "never";

/** Returns whether to use colours. `choice` comes from the command line. */
export const hasColors = (
  stream: Pick<NodeJS.WriteStream, "isTTY">,
  { NO_COLOR: none, TERM: term, CLICOLOR_FORCE: force }: Environment,
  choice: ColorChoice,
): boolean => {
  if (choice !== "auto") return choice === "always";
  if (none) return false;
  if (force && force !== "0") return true;
  return stream.isTTY === true && term !== "dumb";
};

const reset = "\u001b[0m";

export const bold = (colored: boolean, text: string): string => (colored && text !== "" ? `\u001b[1m${text}${reset}` : text);

export const red = (colored: boolean, text: string): string => (colored && text !== "" ? `\u001b[31m${text}${reset}` : text);
