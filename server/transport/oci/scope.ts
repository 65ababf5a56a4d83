// The scopes that an operation needs, for the challenge to a client (oci: 4).

import { catalogScope, type RegistryAction } from "#base/registry-access.ts";
import { actionOf } from "#contract/registry-actions.ts";
import type { DistributionMatch } from "./route.ts";

/** Clients push with both: a push first checks what exists. */
const actionsText: Readonly<Record<RegistryAction, string>> = { pull: "pull", push: "pull,push", delete: "delete" };

/** Characters allowed in a header: those of the grammar, and percent-encodings. */
const nameForm = /^[A-Za-z0-9._~%/-]{1,1024}$/;

const repositoryScope = (name: string, actions: string): string[] => (nameForm.test(name) ? [`repository:${name}:${actions}`] : []);

/** Returns at most one scope of the operation, with the repository name as the client wrote it; a mount adds its source. */
export const neededScopes = ({ method, name }: DistributionMatch, parameters: URLSearchParams): string[] => {
  if (method.unscoped) return [catalogScope];
  const action = actionOf(method);
  if (action === undefined) return [];
  const own = repositoryScope(name, actionsText[action]);
  const isMount = method.distribution?.makesRepo === true && parameters.has("mount");
  const from = isMount ? (parameters.get("from") ?? "") : "";
  return own.length === 0 || from === "" || from === name ? own : [...own, ...repositoryScope(from, actionsText.pull)];
};
