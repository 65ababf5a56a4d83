// The identity providers that a server offers somebody who signs in: those of the organization that they name, or of the only
// one that has any.

import { visibleText } from "#base/html.ts";
import { objectList, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { isUid } from "#base/uid.ts";
import { withoutTrailing } from "#base/trailing.ts";
import { type Issuer, requestJson } from "./issuer-client.ts";

export interface OfferedProvider {
  readonly uid: string;
  /** Anybody may call theirs as they like, so that the host stands beside it. */
  readonly name: string;
  readonly host: string;
}

/** Those to choose from; none where the server has no such list, and its pages ask instead. */
export const fetchProviders = async (issuer: Issuer, name: string, stop: AbortSignal): Promise<OfferedProvider[]> => {
  const { status, body } = await requestJson(`${withoutTrailing(issuer.url, "/")}/oauth/providers?${new URLSearchParams({ name })}`, stop);
  if (status !== 200) return [];
  const shown = (value: string): string => visibleText(value, limits.shownNameLengthMax);
  return objectList(body, "providers")
    .slice(0, limits.offeredProvidersMax)
    .map((each) => ({ uid: text(each, "uid"), name: shown(text(each, "name")), host: shown(text(each, "host")) }))
    .filter(({ uid }) => isUid(uid));
};
