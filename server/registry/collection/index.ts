// Entry point: garbage collection, verification and OCI layouts of stored images.

export { collect, collectNow, type CollectionParts, type CollectionSummary, openCollection, surveyCollection } from "./collect.ts";
export { exportLayout, importLayout, type LayoutSummary, type LayoutWork, type RegistryCall } from "./layouts.ts";
export { removeLeftContents } from "./removals.ts";
export { judgeTags, readVersionRange, rulesOfRepo } from "./retention.ts";
export { type BlobVerdict, type Verification, type VerificationSummary, verifyRegistry } from "./verify.ts";
export { noteWriting } from "./writing.ts";
