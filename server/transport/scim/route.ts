// Routes paths below /scim/v2/ by the contract's templates. An identity provider's uid has any number of segments, so the end of the
// path decides. Pure.

import { Fault } from "#base/fault.ts";
import type { MethodFact } from "#contract/facts.ts";

export interface ScimMatch {
  readonly method: MethodFact;
  /** Request fields by proto name, percent-decoded. */
  readonly fields: ReadonlyMap<string, string>;
}

type ScimRoute = ScimMatch | { readonly allow: readonly string[] };

interface Route {
  readonly method: MethodFact;
  readonly verb: string;
  readonly suffix: readonly string[];
}

const prefix = "/scim/v2/";

const segmentsOf = (path: string): string[] => path.slice(prefix.length).split("/");

const routesOf = (method: MethodFact): Route[] => {
  if (!method.scim) return [];
  const [, ...suffix] = segmentsOf(method.scim.template);
  return [{ method, verb: method.scim.verb, suffix }];
};

const decoded = (segment: string): string => {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new Fault("INVALID_ARGUMENT", `${JSON.stringify(segment)} is not valid percent-encoding`);
  }
};

const match = ({ method, suffix }: Route, segments: readonly string[]): ScimMatch | undefined => {
  const uidLength = segments.length - suffix.length;
  if (uidLength < 1) return undefined;
  const fields = new Map([["identity_provider_uid", segments.slice(0, uidLength).map(decoded).join("/")]]);
  for (const [index, expected] of suffix.entries()) {
    const segment = segments[uidLength + index] ?? "";
    if (expected.startsWith("{")) fields.set(expected.slice(1, -1), decoded(segment));
    else if (segment !== expected) return undefined;
  }
  return { method, fields };
};

/** Returns a router by verb and path. `path` starts with /scim/v2/ and has no trailing slash. */
export const scimRouter = (methods: readonly MethodFact[]): ((verb: string, path: string) => ScimRoute | undefined) => {
  // Longest first: "Users/x" is a user, not the end of a provider's uid.
  const routes = methods.flatMap(routesOf).sort((one, other) => other.suffix.length - one.suffix.length);
  return (verb, path) => {
    const segments = segmentsOf(path);
    const matching = routes.flatMap((route) => {
      const found = match(route, segments);
      return found ? [{ verb: route.verb, length: route.suffix.length, found }] : [];
    });
    const [first] = matching;
    if (!first) return undefined;
    const here = matching.filter(({ length }) => length === first.length);
    return here.find((each) => each.verb === verb)?.found ?? { allow: [...new Set(here.map((each) => each.verb))] };
  };
};
