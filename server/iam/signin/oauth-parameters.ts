// Parses parameters and scopes of OAuth endpoints; maps protocol errors.

import type { Authn } from "#authn";
import { Fault, invalid, type Violation } from "#base/fault.ts";
import { isUid } from "#base/uid.ts";

/** Returns an error with a code of RFC 6749 §4.1.2.1 or §5.2, RFC 8628 §3.5, or RFC 8707 §2. */
export const oauthFault = (reason: string, message: string): Fault => new Fault("INVALID_ARGUMENT", message, { details: [{ kind: "reason", reason }] });

/** Returns a parameter's value, or "" if absent. Throws INVALID_ARGUMENT if it is repeated (RFC 6749 §3.1). */
export const singleParameter = (parameters: URLSearchParams, name: string): string => {
  const [value = "", another] = parameters.getAll(name);
  if (another !== undefined) throw invalid([{ field: name, description: "must be given once" }]);
  return value;
};

/** Reads parameters that must not be repeated (RFC 6749 §3.1, §3.2); absent ones are "". */
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

/** Scopes of OpenID Connect, which request no permission here. */
export const openIdScopes: ReadonlySet<string> = new Set(["openid", "profile", "email", "offline_access"]);

export interface Scope {
  /** Groups and their subtrees; empty: no limit. */
  readonly scopes: readonly string[];
  /** Empty: all of the user's. */
  readonly capabilities: readonly string[];
  /** `offline_access`: requests a refresh token. */
  readonly refresh: boolean;
  /** The effective scope as text; "" for the default. */
  readonly granted: string;
}

/** Parses `scope` of a standard client: names of capabilities, UIDs of groups, and `offline_access`. Throws `invalid_scope`. */
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
