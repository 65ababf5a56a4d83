// Public entry of the module: the tables of registry, and the statements on them.

export * from "./blob-places.ts";
export * from "./blobs.ts";
export * from "./immutable-tag-rules.ts";
export * from "./layer-contents.ts";
export * from "./lifecycles.ts";
export * from "./manifests.ts";
export * from "./pending-repos.ts";
export * from "./images-in-use.ts";
export * from "./pulls.ts";
export * from "./readmes.ts";
export * from "./registry-settings.ts";
export * from "./repo-deployments.ts";
export * from "./repo-manifests.ts";
export * from "./repo-names.ts";
export * from "./retention.ts";
export * from "./sbom-rules.ts";
export * from "./storage.ts";
export * from "./tag-history.ts";
export * from "./tag-policies.ts";
export * from "./tags-summary.ts";
export * from "./uploads.ts";
