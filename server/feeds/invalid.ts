// Errors of a feed's document, with the path of a value or the line of a text.

export type Path = readonly (string | number)[];

/** A value is invalid. */
export class FieldError extends Error {
  readonly path: Path;
  constructor(path: Path, reason: string) {
    super(reason);
    this.path = path;
  }
}

/** A file or document is unreadable, or contains an invalid value. */
export class DocumentError extends Error {
  /** From 1. */
  readonly line: number;
  constructor(line: number, reason: string) {
    super(reason);
    this.line = line;
  }
}

/** Returns a path such as "advisories[0].events[2].timestamp". */
export const pathText = (path: Path): string => path.map((step, index) => (typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`)).join("");
