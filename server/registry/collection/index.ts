// Public entry of the module: stored images as a whole. What no repo needs any more is collected, and all that one needs is
// verified.

export { collect, collectNow, type CollectionParts, type CollectionSummary, openCollection, surveyCollection } from "./collect.ts";
export { exportLayout, importLayout, type LayoutSummary, type LayoutWork, type RegistryCall } from "./layouts.ts";
export { removeLeftContents } from "./removals.ts";
export { type BlobVerdict, type Verification, type VerificationSummary, verifyRegistry } from "./verify.ts";
export { noteWriting } from "./writing.ts";
