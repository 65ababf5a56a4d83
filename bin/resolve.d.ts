// Types of resolve.js.

interface OwnFile {
  readonly url: string;
  readonly format: "module-typescript" | "module";
  readonly shortCircuit: true;
}

export const resolveOwn: (specifier: string, parent: string | undefined) => OwnFile | undefined;
export const resolveByText: () => void;
