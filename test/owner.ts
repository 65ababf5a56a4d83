// Calls as the owner of the affected organization. The operator creates organizations with their first owners, and makes calls
// that no owner may; both follow from the contract's capabilities and the built-in role.

import { builtInRoleUid } from "#authz";
import { type JsonObject, part, text } from "#base/json.ts";
import { isUid, rootOf } from "#base/uid.ts";
import { methods, version1 } from "#contract/catalog.ts";
import { builtInRoles } from "../server/authz/roles.ts";
import type { CallOptions } from "./client.ts";
import { valueAt } from "./samples.ts";
import { full, type World } from "./world.ts";

const ownersCapabilities: ReadonlySet<string> = new Set(builtInRoles.owner);

/** Returns true if an owner lacks one of the capabilities, so that only the operator can grant them. */
export const isBeyondOwners = (names: readonly string[]): boolean => names.some((name) => !ownersCapabilities.has(name));

const methodsByName = new Map([...methods, ...version1].map((method) => [method.name, method]));

/** Returns the organization of a request; undefined for operator calls, `otherwise` for requests without a scope. */
const organizationOf = (name: string, request: JsonObject, otherwise: string): string | undefined => {
  const method = methodsByName.get(name);
  if (!method || isBeyondOwners(method.capabilities)) return undefined;
  const { descendantsOf = otherwise } = part(request, "uidp");
  const place = method.scope ? valueAt(request, method.scope) : method.input.byName.has("parent") ? request.parent : descendantsOf;
  // A resource created without a parent is an organization.
  return typeof place === "string" && isUid(place) ? rootOf(place) : undefined;
};

export interface Owners {
  /** Returns a token of the organization's owner, with the built-in role only. */
  readonly token: (organization?: string) => Promise<string>;
  /** Returns the token for this request: an owner's or the operator's. */
  readonly tokenFor: (name: string, request: JsonObject, otherwise?: string) => Promise<string>;
  /** Returns the world as owners call it. `otherwise`: the organization for requests without a scope. */
  readonly world: (otherwise?: string) => World;
}

export const openOwners = (world: World): Owners => {
  const owners = new Map<string, Promise<string>>();
  const makeOwner = async (parent: string): Promise<string> => {
    const claimMatch = { issuer: "https://issuer.example.com", subject: `owner of ${parent}` };
    const identityUid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent, identity: { name: "owner", claimMatch } }), "uid");
    await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent, roleBinding: { identityUid, roleUid: builtInRoleUid("owner") } });
    return identityUid;
  };
  // Tokens are reused until the settable clock has moved away.
  const held = new Map<string, { readonly token: Promise<string>; readonly fromMs: number }>();
  const token = async (organization = world.organization): Promise<string> => {
    const owner = owners.get(organization) ?? makeOwner(organization);
    owners.set(organization, owner);
    const [uid, nowMs] = [await owner, world.clock.now];
    const known = held.get(uid);
    if (known && Math.abs(nowMs - known.fromMs) <= 60_000) return known.token;
    const minted = world.token(uid);
    held.set(uid, { token: minted, fromMs: nowMs });
    return minted;
  };
  const tokenFor: Owners["tokenFor"] = async (name, request, otherwise = world.organization) => {
    const organization = organizationOf(full(name), request, otherwise);
    return organization === undefined ? world.token() : token(organization);
  };
  return {
    token,
    tokenFor,
    world: (otherwise = world.organization) => {
      const withToken = async <Options extends CallOptions>(name: string, request: JsonObject, options: Options): Promise<Options> =>
        "token" in options ? options : { ...options, token: await tokenFor(name, request, otherwise) };
      return {
        ...world,
        call: async (name, request, options = {}) => world.call(name, request, await withToken(name, request, options)),
        ok: async (name, request, options = {}) => world.ok(name, request, await withToken(name, request, options)),
      };
    },
  };
};
