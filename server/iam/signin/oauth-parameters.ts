// What the endpoints of OAuth have in common: parameters that are there once, scopes, and the protocol's own errors.

import type { Authn } from "#authn";
import { Fault, invalid, type Violation } from "#base/fault.ts";
import { isUid } from "#base/uid.ts";

/** An error by its name in RFC 6749, 4.1.2.1 and 5.2, RFC 8628, 3.5, or RFC 8707, 2. */
export const oauthFault = (reason: string, message: string): Fault => new Fault("INVALID_ARGUMENT", message, { details: [{ kind: "reason", reason }] });

/** RFC 6749, 3.1: no parameter is there twice; "" where it is not there. Throws INVALID_ARGUMENT. */
export const singleParameter = (parameters: URLSearchParams, name: string): string => {
  const [value = "", another] = parameters.getAll(name);
  if (another !== undefined) throw invalid([{ field: name, description: "must be given once" }]);
  return value;
};

/** The parameters of OAuth that have one value, each with a refusal of a second one (RFC 6749, 3.1 and 3.2). "" stands for an absent one. */
export const readSingleParameters = <Name extends string>(
  parameters: URLSearchParams,
  lengths: Readonly<Record<Name, number>>,
): { values: Record<Name, string>; violations: Violation[] } => {
  const violations: Violation[] = [];
  const values: Partial<Record<Name, string>> = {};
  for (const name of Object.keys(lengths) as Name[]) {
    const [value = "", ...more] = parameters.getAll(name);
    if (more.length > 0) violations.push({ field: name, description: "must be given once" });
    if (value.length > lengths[name]) violations.push({ field: name, description: `must have at most ${lengths[name]} characters` });
    values[name] = value;
  }
  return { values: values as Record<Name, string>, violations };
};

/** Words that OpenID Connect gives a meaning, and that ask for nothing here. */
export const openIdScopes: ReadonlySet<string> = new Set(["openid", "profile", "email", "offline_access"]);

export interface Scope {
  /** Groups in and below which the token acts; empty: everywhere. */
  readonly scopes: readonly string[];
  /** What the token may do; empty: whatever its person may. */
  readonly capabilities: readonly string[];
  /** `offline_access`: it wants to stay signed in. */
  readonly refresh: boolean;
  /** What of it counts, as one text; "" for nothing in particular. */
  readonly granted: string;
}

/**
 * The parameter `scope` of a client that knows no parameters of ours: names of capabilities, uids of groups, and
 * `offline_access`. Throws `invalid_scope`.
 */
export const readScope = ({ readDownscoping }: Pick<Authn, "readDownscoping">, scope: string): Scope => {
  const words = [...new Set(scope.split(" "))].filter((word) => word !== "");
  const narrowing = words.filter((word) => !openIdScopes.has(word));
  const [scopes, capabilities] = [narrowing.filter(isUid), narrowing.filter((word) => !isUid(word))];
  try {
    readDownscoping({ identity: "", audience: [], scopes, capabilities });
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    throw oauthFault("invalid_scope", "scope must consist of capabilities (groups.list), uids of groups and offline_access");
  }
  const refresh = words.includes("offline_access");
  return { scopes, capabilities, refresh, granted: [...narrowing, ...(refresh ? ["offline_access"] : [])].join(" ") };
};
