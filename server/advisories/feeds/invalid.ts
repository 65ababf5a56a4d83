// How a feed's document is refused: one of its values by the path that leads to it, or its text by the line.

export type Path = readonly (string | number)[];

/** A value that must not be kept, with its path in the document. */
export class FieldError extends Error {
  readonly path: Path;
  constructor(path: Path, reason: string) {
    super(reason);
    this.path = path;
  }
}

/** A file or document that cannot be read as what it is, or that holds a value that must not be kept. */
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
