// The request for used storage.

import type { Storage } from "../../client/package.ts";
import type { Question } from "./api.ts";

/** Of a repo, a group or an organization. */
export const storageOf = (uid: string): Question<Storage> => ({
  name: "registry.storage.get",
  request: { uid },
  send: (gantry, signal) => gantry.registry.storage.get({ uid }, { signal }),
});
