// Types for the validator, whose package includes none.

interface CsafFinding {
  readonly instancePath: string;
  readonly message?: string;
}

type CsafTest = (document: unknown) => unknown;

declare module "@secvisogram/csaf-validator-lib/validate.js" {
  const validate: (
    tests: readonly CsafTest[],
    document: unknown,
  ) => Promise<{
    readonly isValid: boolean;
    readonly tests: readonly { readonly name: string; readonly isValid: boolean; readonly errors: readonly CsafFinding[] }[];
  }>;
  export = validate;
}

declare module "@secvisogram/csaf-validator-lib/mandatoryTests.js" {
  const tests: Readonly<Record<string, CsafTest>>;
  export = tests;
}

declare module "@secvisogram/csaf-validator-lib/schemaTests.js" {
  export const csaf_2_0_strict: CsafTest;
}
