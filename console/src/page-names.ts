// Names of pages and views in addresses.

/** Pages of a group: /console/acme/-/findings. */
export const groupPages = [
  "findings",
  "decisions",
  "approvals",
  "vex",
  "access",
  "identities",
  "roles",
  "bindings",
  "robots",
  "invites",
  "sessions",
  "providers",
  "associations",
  "rules",
  "storage",
  "libraries",
  "events",
  "webhooks",
  "audit",
  "deleted",
] as const;
export type GroupPage = (typeof groupPages)[number];

/** Pages that belong to no group: /console/-/admin. */
export const ownPages = ["account", "admin", "advisories"] as const;
export type OwnPage = (typeof ownPages)[number];

/** Views of an image: ?view=layers. */
export const imageViews = ["overview", "findings", "packages", "layers", "signatures", "tags", "pulls", "compare"] as const;
export type ImageView = (typeof imageViews)[number];
