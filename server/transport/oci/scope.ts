// The scopes that an operation needs, for the challenge that tells a client which token to request (oci: 4).

import type { RegistryAction } from "#base/registry-access.ts";
import { actionOf } from "#contract/registry-actions.ts";
import type { DistributionMatch } from "./route.ts";

/** Clients push with both: a push asks first what is there. */
const actionsText: Readonly<Record<RegistryAction, string>> = { pull: "pull", push: "pull,push", delete: "delete" };

/** What a name may consist of to be written into a header: those of the grammar and percent-encodings. */
const nameForm = /^[A-Za-z0-9._~%/-]{1,1024}$/;

const repositoryScope = (name: string, actions: string): string[] => (nameForm.test(name) ? [`repository:${name}:${actions}`] : []);

/**
 * Returns the scopes of the operation, with the repository's name as the client wrote it: one, or none. A mount names its source too.
 */
export const neededScopes = ({ method, name }: DistributionMatch, parameters: URLSearchParams): string[] => {
  const action = actionOf(method);
  if (action === undefined) return [];
  const own = repositoryScope(name, actionsText[action]);
  const isMount = method.distribution?.makesRepo === true && parameters.has("mount");
  const from = isMount ? (parameters.get("from") ?? "") : "";
  return own.length === 0 || from === "" || from === name ? own : [...own, ...repositoryScope(from, actionsText.pull)];
};
