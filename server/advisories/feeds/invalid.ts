// Errors of a document, with the path of a value or the line of a text.

export type Path = readonly (string | number)[];

export class FieldError extends Error {
  readonly path: Path;
  constructor(path: Path, reason: string) {
    super(reason);
    this.path = path;
  }
}

/** An unreadable or invalid file or document. */
export class DocumentError extends Error {
  /** From 1. */
  readonly line: number;
  constructor(line: number, reason: string) {
    super(reason);
    this.line = line;
  }
}

/** "advisories[0].events[2].timestamp" */
export const pathText = (path: Path): string => path.map((step, index) => (typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`)).join("");
