// Identity providers that a server offers at sign-in: those of the named organization, or of the only one that has any.

import { visibleText } from "#base/html.ts";
import { objectList, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { isUid } from "#base/uid.ts";
import { withoutTrailing } from "#base/trailing.ts";
import { type Issuer, requestJson } from "./issuer-client.ts";

export interface OfferedProvider {
  readonly uid: string;
  /** Owners choose names freely, so the host is shown with it. */
  readonly name: string;
  readonly host: string;
}

/** Returns the providers; none if the server has no list and asks on its pages. */
export const fetchProviders = async (issuer: Issuer, name: string, stop: AbortSignal): Promise<OfferedProvider[]> => {
  const { status, body } = await requestJson(`${withoutTrailing(issuer.url, "/")}/oauth/providers?${new URLSearchParams({ name })}`, stop);
  if (status !== 200) return [];
  const shown = (value: string): string => visibleText(value, limits.shownNameLengthMax);
  return objectList(body, "providers")
    .slice(0, limits.offeredProvidersMax)
    .map((each) => ({ uid: text(each, "uid"), name: shown(text(each, "name")), host: shown(text(each, "host")) }))
    .filter(({ uid }) => isUid(uid));
};
