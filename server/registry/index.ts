// Public entry of the module: stored images as a whole. What no repo needs any more is collected, and all that one needs is
// verified.

export { collect, type CollectionParts, openCollection } from "./collect.ts";
export { removeLeftContents } from "./removals.ts";
export { type BlobVerdict, type Verification, type VerificationSummary, verifyRegistry } from "./verify.ts";
