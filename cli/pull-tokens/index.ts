// Public entry: pull tokens for machines that pull images and cannot sign in. Each is an identity with its own key (staticKeys)
// and the role registry.pull, plus a JWT signed by that key. The private key is created here, signs once and is discarded, so
// that neither the server nor the token's owner can sign another one. Registries take the identity's uid as user name and the JWT
// as password (authentication.md: 9).

import { SignJWT } from "jose/jwt/sign";
import { exportJWK } from "jose/key/export";
import { generateKeyPair } from "jose/key/generate/keypair";
import { randomBytes } from "node:crypto";
import { Fault } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { isUid } from "#base/uid.ts";
import { withoutTrailing } from "#base/trailing.ts";
import type { Client } from "#contract-client";

export interface PullToken {
  /** Uid of the identity: the user name. */
  readonly uid: string;
  readonly name: string;
  readonly description: string;
  readonly createTime: string;
  /** RFC 3339. */
  readonly expireTime: string;
  /** Time of the last exchange, or of creation if there was none. */
  readonly lastSeenTime: string;
}

export interface NewPullToken extends PullToken {
  readonly group: string;
  /** The JWT, shown once. */
  readonly password: string;
}

export interface PullTokenDraft {
  readonly group: string;
  readonly name: string;
  readonly description: string;
  readonly lifetimeMs: number;
}

const roleName = "registry.pull";
const signingAlgorithm = "ES256";

/** Returns the issuer of the JWTs, which also distinguishes these identities from others with static keys. */
const issuerOf = (server: string): string => `${withoutTrailing(server, "/")}/pull-tokens`;

/** The API with the caller's own permissions. */
type Api = Pick<Client, "call" | "items">;

const iam = "chainguard.platform.iam.v2";

/** Returns the named group, or the only organization that the caller sees. */
export const findGroup = async (client: Api, group: string | undefined): Promise<string> => {
  if (group !== undefined) {
    if (!isUid(group)) throw new Fault("INVALID_ARGUMENT", `--group must be a uid, not ${JSON.stringify(group)}`);
    return group;
  }
  const organizations = await Array.fromAsync(client.items(`${iam}.GroupsService/ListGroups`, { uidp: { inRoot: true } }));
  const [only, ...others] = organizations;
  if (only === undefined) throw new Fault("FAILED_PRECONDITION", "no organization is visible to you. Name the group with --group");
  if (others.length > 0) {
    const lines = organizations.slice(0, limits.offeredProvidersMax).map((each) => `${text(each, "uid")} (${text(each, "name")})`);
    throw new Fault("INVALID_ARGUMENT", `${organizations.length} organizations are visible to you. Name the group with --group: ${lines.join(", ")}`);
  }
  return text(only, "uid");
};

/** Returns the built-in role; custom roles of this name are below a group. */
const findRole = async (client: Api): Promise<string> => {
  const roles = await Array.fromAsync(client.items(`${iam}.RolesService/ListRoles`, { name: roleName }));
  const uid = roles.map((role) => text(role, "uid")).find((each) => !each.includes("/"));
  if (uid === undefined) throw new Fault("FAILED_PRECONDITION", `role ${roleName} not found on the server`);
  return uid;
};

const pullTokenOf = (identity: JsonObject): PullToken => ({
  uid: text(identity, "uid"),
  name: text(identity, "name"),
  description: text(identity, "description"),
  createTime: text(identity, "createTime"),
  expireTime: text(part(identity, "staticKeys"), "expirationTime"),
  lastSeenTime: text(identity, "lastSeenTime"),
});

/** Creates a pull token; if a step fails, the previous ones are undone. */
export const createPullToken = async (client: Api, server: string, { group, name, description, lifetimeMs }: PullTokenDraft): Promise<NewPullToken> => {
  const role = await findRole(client);
  const { publicKey, privateKey } = await generateKeyPair(signingAlgorithm, { extractable: true });
  const kid = randomBytes(8).toString("hex");
  const subject = `pull-token-${kid}`;
  const key = { ...(await exportJWK(publicKey)), alg: signingAlgorithm, use: "sig", kid };
  // Tokens have whole seconds.
  const endSeconds = Math.floor((Date.now() + lifetimeMs) / 1000);
  const expirationTime = timestamp(endSeconds * 1000);
  const issuer = issuerOf(server);
  const staticKeys = { issuer, subject, issuerKeys: JSON.stringify({ keys: [key] }), expirationTime };
  // Both expire: the keys, and every token exchanged for one of theirs.
  const draft = { name, ...(description === "" ? {} : { description }), staticKeys, expireTime: expirationTime };
  const identity = await client.call(`${iam}.IdentitiesService/CreateIdentity`, { parent: group, identity: draft });
  const uid = text(identity, "uid");
  try {
    const roleBinding = { identityUid: uid, roleUid: role, expireTime: expirationTime };
    await client.call(`${iam}.RoleBindingsService/CreateRoleBinding`, { parent: group, roleBinding });
    const password = await new SignJWT({})
      .setProtectedHeader({ alg: signingAlgorithm, kid, typ: "JWT" })
      .setIssuer(issuer)
      .setSubject(subject)
      .setAudience(withoutTrailing(server, "/"))
      .setIssuedAt()
      .setExpirationTime(endSeconds)
      .sign(privateKey);
    return { ...pullTokenOf(identity), group, password };
  } catch (thrown) {
    await client.call(`${iam}.IdentitiesService/DeleteIdentity`, { uid }).catch((cause: unknown) => {
      const why = thrown instanceof Error ? thrown.message : String(thrown);
      throw new Fault("FAILED_PRECONDITION", `${why}; the identity ${uid} was created and cannot be deleted. Run gantry iam pull-tokens revoke ${uid}`, {
        cause,
      });
    });
    throw thrown;
  }
};

const isPullToken = (identity: JsonObject, server: string): boolean => text(part(identity, "staticKeys"), "issuer") === issuerOf(server);

/** Lists the pull tokens that the caller sees, at or below the group if one is named. */
export const listPullTokens = async (client: Api, server: string, group: string | undefined): Promise<PullToken[]> => {
  const below = group === undefined ? {} : { uidp: { descendantsOf: group } };
  const request = { relationshipType: "RELATIONSHIP_TYPE_STATIC", orderBy: "create_time", ...below };
  const identities = await Array.fromAsync(client.items(`${iam}.IdentitiesService/ListIdentities`, request));
  return identities.filter((identity) => isPullToken(identity, server)).map(pullTokenOf);
};

/** Deletes the identity with its role bindings; the token is refused from the next request on. */
export const revokePullToken = async (client: Api, server: string, uid: string): Promise<PullToken> => {
  if (!isUid(uid)) throw new Fault("INVALID_ARGUMENT", `UID must be the uid of a pull token, not ${JSON.stringify(uid)}`);
  const identity = await client.call(`${iam}.IdentitiesService/GetIdentity`, { uid });
  if (!isPullToken(identity, server))
    throw new Fault("FAILED_PRECONDITION", `${uid} (${text(identity, "name")}) is not a pull token of ${server}. Nothing was changed`);
  await client.call(`${iam}.IdentitiesService/DeleteIdentity`, { uid });
  return pullTokenOf(identity);
};
