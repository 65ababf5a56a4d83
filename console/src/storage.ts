// The requests for used storage and for quotas.

import type { Quotas, Storage } from "../../client/package.ts";
import type { Question } from "./api.ts";

/** Of a repo, a group or an organization. */
export const storageOf = (uid: string): Question<Storage> => ({
  name: "registry.storage.get",
  request: { uid },
  send: (gantry, signal) => gantry.registry.storage.get({ uid }, { signal }),
});

/** Of the organization of a group. */
export const quotasOf = (uid: string): Question<Quotas> => ({
  name: "iam.quotas.get",
  request: { uid },
  send: (gantry, signal) => gantry.iam.quotas.get({ uid }, { signal }),
});
