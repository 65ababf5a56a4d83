// Shared by the conformance suites: a running server with resources, callers with exact capabilities, and a valid request for any operation of
// the contract.

import { randomBytes } from "node:crypto";
import { builtInRoleUid } from "#authz";
import { isObject, type Json, type JsonObject, objectList, text } from "#base/json.ts";
import type { Log } from "#base/log.ts";
import { newChild, newRoot, rootOf } from "#base/uid.ts";
import { capabilityByName } from "#contract/capabilities.ts";
import { messageByName, methods } from "#contract/catalog.ts";
import type { FieldFact, MessageFact, MethodFact } from "#contract/facts.ts";
import { type Answer, type CallOptions, callOver, type Protocol } from "../client.ts";
import { alpine, apk, pushImage } from "../image-layers.ts";
import { createPendingDecision, decideFinding } from "../decided-finding.ts";
import { openPusher } from "../pusher.ts";
import { callDistribution, digestOf, sampleBlob, sampleManifest } from "../distribution.ts";
import { bodyField, bodyOf, createOf, ownFieldsOf, type Sampling, nonEmpty, subjectOf, valueAt, valueOf, withValue } from "../samples.ts";
import { builtInRoles } from "../../server/authz/roles.ts";
import { registerPerson } from "../../server/application/person.ts";
import { storeHeadlessToken } from "../../server/iam/signin/headless.ts";
import { openOpenRows } from "../../server/iam/signin/open-rows.ts";
import { beginFamily } from "../../server/iam/signin/refresh.ts";
import { beginSession, newSessionId } from "../../server/iam/signin/session.ts";
import { insertManifests } from "#registry/store";
import { isBeyondOwners, openOwners } from "../owner.ts";
import { openWorld, type World } from "../world.ts";
import { writeTestRecords, writeTestReport } from "../story/records.ts";
import { grown } from "./grown.ts";

export const protocols = ["rest", "grpc"] as const satisfies readonly Protocol[];

/** Returns the protocols of an operation; the OCI Distribution protocol is HTTP only. */
export const protocolsOf = (method: MethodFact): readonly Protocol[] => (method.distribution || method.givesFile ? ["rest"] : protocols);

/** Returns true for operations that only an identity provider's SCIM token can call (test/story/scim-*.test.ts, test/attacks/scim.test.ts). */
export const isScim = ({ scim }: MethodFact): boolean => scim !== undefined;

/** Returns true if the operation supports dry runs and idempotency keys; the OCI Distribution protocol has neither. */
export const hasSafeWrites = ({ distribution }: MethodFact): boolean => distribution === undefined;

/** The domain of the stage's organization, and the issuer that the operator trusts for addresses there. */
const ownDomain = "stage.example";
const peopleIssuer = "https://people.example.com";

const deleteOneself = "chainguard.platform.auth.Auth/Delete";
const membershipAnswers = ["AcceptMembership", "DeclineMembership"].map((rpc) => `gantry.memberships.v1.MembershipsService/${rpc}`);
const revokeSession = "gantry.sessions.v1.SessionsService/RevokeSession";
const namesService = "gantry.names.v1.NamesService";
const revokeAllSessions = "gantry.sessions.v1.SessionsService/RevokeAllSessions";
const revokeGroupSession = "gantry.sessions.v1.SessionsService/RevokeGroupSession";
const getHeadlessSession = "chainguard.platform.auth.Auth/GetHeadlessSession";

const iam = "chainguard.platform.iam.v2";
const repoMessage = "chainguard.platform.registry.v2.Repo";

const imageDigest = `sha256:${"ab".repeat(32)}`;

const vulnerabilities = "chainguard.platform.registry.Vulnerabilities";
/** The chosen field if one of several is required. */
const oneOfSeveral: Readonly<Record<string, JsonObject>> = {
  [`${vulnerabilities}/ListVulnReports`]: { digest: imageDigest },
  [`${vulnerabilities}/GetRawVulnReport`]: { digest: imageDigest },
  [`${vulnerabilities}/ListVulnCountReports`]: { repo: "app", tag: "v1" },
  [`${vulnerabilities}/ListCumulativeVulnCountReports`]: { repo: "app", tag: "v1" },
};
export const groupMessage = `${iam}.Group`;
export const identityMessage = `${iam}.Identity`;
export const roleMessage = `${iam}.Role`;
const bindingMessage = `${iam}.RoleBinding`;

export interface Holder {
  readonly uid: string;
  readonly token: string;
  /** The token's upstream identity. */
  readonly act?: Readonly<Record<string, string>>;
}

export interface RequestOptions {
  /** The group that contains the request's target. */
  readonly place?: string;
  /** Capabilities of roles in the request; the caller must hold them. */
  readonly capabilities?: readonly string[] | undefined;
  /** Fills every field of the body. */
  readonly whole?: boolean;
  /** Uses this uid instead of creating a resource. */
  readonly uid?: string;
}

export interface Stage {
  /** Calls as an owner, except for the operator's operations and those that create an organization (test/owner.ts). */
  readonly world: World;
  /** Returns true if an identity's token gets a response; all other operations except SCIM are UNIMPLEMENTED. */
  readonly answers: (method: MethodFact) => boolean;
  /** Calls any operation over any protocol; without `token`, unauthenticated. */
  readonly call: (protocol: Protocol, method: MethodFact, request: JsonObject, options?: CallOptions) => Promise<Answer>;
  /** Returns a token of an owner of this organization, or of the stage's, with the built-in role only. */
  readonly owner: (organization?: string) => Promise<string>;
  /**
   * Returns a token that can make a valid request: an owner's or the operator's. Only the operator creates organizations and sets their
   * `verified` and `kind`.
   */
  readonly tokenFor: (method: MethodFact, request: JsonObject) => Promise<string>;
  /** Returns the operator's token. A test that uses it says why. */
  readonly operator: () => Promise<string>;
  /** The world as the operator calls it. A test that uses it says why. */
  readonly operatorWorld: World;
  /** Returns an unused number. */
  readonly next: () => number;
  readonly sampling: (place: string, capabilities?: readonly string[]) => Sampling;
  /** Creates a resource of this message as an owner of its organization; returns a random uid if the server cannot create one yet. */
  readonly make: (message: string, asking?: RequestOptions & { readonly parent?: string; readonly body?: JsonObject }) => Promise<JsonObject>;
  /** Returns a valid request of this operation. */
  readonly request: (method: MethodFact, asking?: RequestOptions) => Promise<JsonObject>;
  /** Restores what a valid read consumes: a sign-in's session can be fetched once. */
  readonly putBack: (method: MethodFact, request: JsonObject) => Promise<void>;
  /** Creates an identity of the group's organization, bound in the group with a custom role of exactly these capabilities. */
  readonly holder: (names: readonly string[], place: string) => Promise<Holder>;
  /** Returns the group where a caller needs the capabilities: an ancestor if the request names a second group. */
  readonly needsAt: (method: MethodFact, place: string) => string;
  /** Creates an identity of this group without a binding. */
  readonly stranger: (group: string) => Promise<Holder>;
  /**
   * Returns a caller for the operation. Without a capability: a new user with a verified address of the organization's domain. With a
   * refresh token: its bearer. For deleting one's own identity: the user of the last request. Otherwise `otherwise`.
   */
  readonly callerOf: (method: MethodFact, otherwise: Holder) => Promise<Holder>;
  /** Accepts membership for a registered user; until then, an owner's binding has no effect. */
  readonly join: (person: Holder, group: string) => Promise<void>;
  /** Binds an identity in a group; returns the binding's uid. */
  readonly bind: (group: string, identity: string, role: string) => Promise<string>;
  /** Runs a statement on the server's own database. */
  readonly query: (statement: string, values?: readonly string[]) => Promise<readonly (readonly (string | null)[])[]>;
  /** Returns a checksum of all rows except idempotency keys, to compare before and after. */
  readonly fingerprint: () => Promise<string>;
  readonly close: () => Promise<void>;
}

/** Items of a request group are numbered. */
const firstItemOf = (uid: string): string => `${uid}/0000000000000001`;

/** Returns these capabilities and those that a custom role requires with them. */
const withRequiredCapabilities = (names: readonly string[]): string[] => [
  ...new Set([...names, ...(names.some((name) => capabilityByName(name)?.internalOnly) ? ["internal"] : [])]),
];

/** Returns every capability that the operator can grant, except this one. */
export const everyCapabilityBut = (name: string): string[] => (builtInRoles.operator ?? []).filter((other) => other !== name);

export const symbolsOf = (names: readonly string[]): string[] => names.map((name) => capabilityByName(name)?.symbol ?? name);

/** Returns an unused uid of the same shape, with a new last segment. */
export const unusedUid = (uid: string): string => (uid.includes("/") ? newChild(uid.slice(0, -17)) : newRoot());

/** Returns the text without this uid. */
export const withoutUid = (value: unknown, uid: string): string => JSON.stringify(value).replaceAll(uid, "<uid>");

/** Returns the comparable parts of a response: the body's bytes and the headers without times. */
export const comparableAnswer = ({ status, code, message, details, headers, raw }: Answer, uid: string): string => {
  const { date: _date, "x-request-id": _id, ...lasting } = headers;
  return withoutUid({ status, code, message, details, headers: lasting, raw }, uid);
};

/** Returns the first text under this key, at any depth. */
const textNamed = (value: JsonObject, key: string): string =>
  text(value, key) ||
  (Object.values(value)
    .filter(isObject)
    .map((inner) => textNamed(inner, key))
    .find((found) => found !== "") ??
    "");

/**
 * Returns true for public operations that show more with a permission (docs/decisions/0043), so they refuse no caller.
 * test/story/private-feeds.test.ts, private-feed-files.test.ts and test/attacks/private-feeds.test.ts cover them.
 */
export const isBesideOpen = ({ service }: MethodFact): boolean => service.startsWith("gantry.feeds.v1.");

/** Returns true for operations that all users can call for themselves. */
export const isForEverybody = ({ unscoped, capabilities }: MethodFact): boolean => unscoped && capabilities.length === 0;

export const isList = (method: MethodFact): boolean => method.rpc.startsWith("List") && method.input.byName.has("page_token");

/** Resources that make other operations in their group require more; each is made in a group of its own. */
const restrictsOthers: ReadonlySet<string> = new Set(["gantry.decisions.v1.DecisionApprovalPolicy"]);

/** Returns true for messages with their parent's uid, so that each parent has one. */
const sharesUid = (message: MessageFact): boolean => (message.byName.get("uid")?.refersTo ?? "") !== "";

/** Returns true for operations that require the capabilities in the whole organization of the uid: a log is that of an organization. */
export const isOfOrganization = ({ rpc }: MethodFact): boolean => rpc === "VerifyAuditEntries";

/** Returns true for operations on resources outside groups: unscoped, and without a parent in the request. */
export const isCatalogue = ({ unscoped, capabilities, input }: MethodFact): boolean =>
  unscoped && capabilities.length > 0 && !["uid", "parent"].some((name) => input.byName.has(name)) && !hasPlaces(input);

/** Returns true for a List of rows in groups, which can be filtered by group. */
export const hasPlaces = (input: MessageFact): boolean => input.byName.get("uidp")?.message?.name === "chainguard.platform.common.UIDPFilter";

/** Returns true for reads of many groups' rows, which hide rows instead of refusing. */
export const hidesRows = (method: MethodFact): boolean =>
  method.unscoped && !isCatalogue(method) && !method.writes && (isList(method) || hasPlaces(method.input));

/** Returns true for a List of rows with a Create; grown.ts makes the others. */
export const isMade = (method: MethodFact): boolean => createOf(rowMessage(method)?.name ?? "") !== undefined;

/** Returns the message that a List lists. */
export const rowMessage = (method: MethodFact): MessageFact | undefined => method.output.fields.find(({ json }) => json === pluralOf(method))?.message;

/** Returns the message of the rows that an operation lists, or counts as its service's List does. */
export const shownMessage = (method: MethodFact): MessageFact | undefined => {
  const list = isList(method) ? method : methods.find((each) => each.service === method.service && isList(each));
  return list && rowMessage(list);
};

/** Returns the plural field of a List's response. */
export const pluralOf = (method: MethodFact): string => method.output.fields.find((field) => field.shape === "list" && field.message)?.json ?? "";

/** Returns a List's rows; gRPC omits an empty list. */
export const rowsOf = (method: MethodFact, reply: JsonObject): JsonObject[] => objectList(reply, pluralOf(method));

export const uidsOf = (method: MethodFact, reply: JsonObject): string[] => rowsOf(method, reply).map((row) => text(row, "uid"));

export const violationsOf = (answer: Answer): { field: string; description: string }[] =>
  answer.details.flatMap((detail) => (Array.isArray(detail.fieldViolations) ? (detail.fieldViolations as { field: string; description: string }[]) : []));

const parentKind = (method: MethodFact | undefined): string | undefined => method?.input.byName.get("parent")?.refersTo;

export const openStage = async (environment: Readonly<Record<string, string>> = {}, log?: Log, nowMs?: number): Promise<Stage> => {
  const opened = await openWorld({ GANTRY_MAIL_ISSUERS: `${peopleIssuer}=${ownDomain}`, ...environment }, log, nowMs);
  const { kernel, services } = opened.server.application;
  let given = 0;
  const next = (): number => ++given;

  const owners = openOwners(opened);
  const world = owners.world();
  const ownerCall = async (method: MethodFact, request: JsonObject): Promise<JsonObject> => world.ok(method.name, request);

  const sampling: Stage["sampling"] = (place, names) => ({
    variant: next(),
    nowMs: world.clock.now,
    capabilities: names && symbolsOf(names),
    // A reference to a group means the organization itself; a repo is created at the place, any other resource in the organization.
    refer: async (message) => {
      const root = rootOf(place);
      return message === groupMessage ? root : text(await make(message, { place: message === repoMessage ? place : root, capabilities: names }), "uid");
    },
  });

  const parentFor = async (method: MethodFact, place: string): Promise<string> => {
    const above = method.input.byName.get("parent")?.refersTo ?? "";
    if (sharesUid(method.output) || restrictsOthers.has(method.output.name)) return text(await make(groupMessage, { parent: place }), "uid");
    return above === groupMessage || above === "" ? place : text(await make(above, { place }), "uid");
  };

  /** Returns resource fields that the request contains itself; references have their own names there. */
  const inRequest = ({ input, output }: MethodFact, body: JsonObject): JsonObject =>
    Object.fromEntries(
      Object.entries(body).map(([key, value]) => {
        const refersTo = output.byName.get(key)?.refersTo;
        const own = input.byName.has(key) ? undefined : input.fields.find((field) => !field.scope && field.refersTo !== "" && field.refersTo === refersTo);
        return [own?.json ?? key, value];
      }),
    );

  /** Roles with a capability that no owner holds, so that none can bind them. */
  const operatorsRoles = new Set<string>();
  const make: Stage["make"] = async (message, { place = world.organization, parent, capabilities: names, whole = false, body = {} } = {}) => {
    const grow = grown[message];
    if (grow) return grow(owners.world(rootOf(parent ?? place)), parent ?? place);
    const create = createOf(message);
    if (!create || !kernel.answers.has(create.name)) return { uid: newChild(place) };
    const field = bodyField(create);
    const above = parent !== undefined && !sharesUid(create.output) ? parent : await parentFor(create, parent ?? place);
    if (!field?.message) return ownerCall(create, { ...(await ownFieldsOf(create, sampling(place, names))), ...inRequest(create, body), parent: above });
    // A resource of a group may refer only to repos below that group.
    const around = parentKind(create) === groupMessage ? above : place;
    const sample = await bodyOf(field.message, sampling(around, names), whole);
    const asked = { parent: above, [field.json]: { ...sample, ...body } };
    if (!isBeyondOwners(names ?? [])) return ownerCall(create, asked);
    // No owner holds these capabilities, so none can grant them.
    const made = await opened.ok(create.name, asked);
    if (message === roleMessage) operatorsRoles.add(text(made, "uid"));
    return made;
  };

  // Steps that an operation requires first.
  const preparations: Readonly<Record<string, (uid: string) => Promise<void>>> = {
    RegenerateScimToken: async (uid) => void (await world.ok("iam.IdentityProvidersService/GenerateScimToken", { identityProviderUid: uid })),
    RestoreItems: async (uid) =>
      void (await world.ok("chainguard.platform.libraries.v2beta1.RequestGroupsService/RemoveItems", { uid, itemUids: [firstItemOf(uid)] })),
    RefreshCoverage: async (uid) => {
      const [item] = objectList(
        await world.ok("chainguard.platform.libraries.v2beta1.RequestGroupsService/ListRequestGroupItems", { uid }),
        "requestGroupItems",
      );
      const versions = [{ version: text(item ?? {}, "version") }];
      await writeTestRecords(world, [{ kind: "library", ecosystem: "ECOSYSTEM_PYTHON", name: text(item ?? {}, "packageName"), versions }]);
    },
    SetScimEnabled: async (uid) => {
      for (const { uid: owner } of [await stranger(rootOf(uid)), await stranger(rootOf(uid))]) await bind(rootOf(uid), owner, builtInRoleUid("owner"));
    },
  };

  /** Returns the subject's current values if the request must repeat them. */
  const seen = async (subject: MessageFact, uid: string): Promise<string> => {
    const get = methods.find(({ rpc, output }) => rpc === `Get${subject.short}` && output.name === subject.name);
    return get ? textNamed(await ownerCall(get, { uid }), "etag") : "";
  };

  /** Returns uids of this kind below the batch's parent; random ones if none can be created there. */
  const batched = async (message: string, parent: string, uid: string | undefined): Promise<Json> => [
    uid === undefined ? text(await make(message, { parent }), "uid") : newChild(parent),
  ];

  /** Returns true for a list of rows below the operation's subject. */
  const liesBelowSubject = (method: MethodFact, { shape, refersTo }: FieldFact): boolean => {
    const above = messageByName(refersTo)?.byName.get("uid")?.liesBelow ?? "";
    return shape === "list" && above !== "" && above === subjectOf(method)?.name;
  };

  /** Pushes the sample manifest with a tag. */
  const pushSample = async (repo: string): Promise<void> => {
    const operation = methods.find(({ rpc }) => rpc === "PutManifest");
    if (!operation) throw new Error("there is no PutManifest");
    const answer = await callDistribution(world.url, operation, { repo, reference: "sample" }, { token: await owners.token(rootOf(repo)) });
    if (answer.code !== 0) throw new Error(`PutManifest: ${answer.message}`);
  };

  /** Returns request fields for an existing target in a repo, which the OCI protocol needs. */
  const distributionFields = async (method: MethodFact, repo: string | undefined): Promise<JsonObject> => {
    const push = async (rpc: string, request: JsonObject, content?: Uint8Array): Promise<Answer> => {
      const operation = methods.find((other) => other.service === method.service && other.rpc === rpc);
      if (!operation) throw new Error(`there is no ${rpc}`);
      const answer = await callDistribution(world.url, operation, request, { token: await owners.token(rootOf(repo ?? world.organization)), content });
      if (answer.code !== 0) throw new Error(`${rpc}: ${answer.message}`);
      return answer;
    };
    const { input } = method;
    const manifest = digestOf(sampleManifest);
    const blob = digestOf(sampleBlob);
    const needsManifest = ["GetManifest", "DeleteManifest", "DeleteRepoTag"].includes(method.rpc);
    const isOfBlob = ["GetBlob", "DeleteBlob", "StartUpload", "FinishUpload"].includes(method.rpc);
    let upload = randomBytes(16).toString("hex");
    if (repo !== undefined) {
      if (needsManifest) await push("PutManifest", { repo, reference: method.rpc === "DeleteRepoTag" ? "sample" : manifest }, sampleManifest);
      if (method.rpc === "GetBlob" || method.rpc === "DeleteBlob") await push("StartUpload", { repo, digest: blob }, sampleBlob);
      if (input.byName.has("upload")) upload = (await push("StartUpload", { repo })).headers["docker-upload-uuid"] ?? "";
    }
    return {
      ...(input.byName.has("reference") ? { reference: manifest } : {}),
      ...(method.rpc === "DeleteRepoTag" ? { tag: "sample" } : {}),
      ...(input.byName.get("digest")?.required || method.rpc === "StartUpload" ? { digest: isOfBlob ? blob : manifest } : {}),
      ...(input.byName.has("upload") ? { upload } : {}),
    };
  };

  const decidedGroups = new Map<string, Promise<void>>();
  const decidedIn = (group: string): Promise<void> => {
    const decided = decidedGroups.get(group) ?? decideFinding(world, group, () => owners.token(rootOf(group)));
    decidedGroups.set(group, decided);
    return decided;
  };

  const request: Stage["request"] = async (method, { place = world.organization, capabilities: names, whole = false, uid } = {}) => {
    const seeds = sampling(place, names);
    if (method.distribution) {
      if (!method.scope) return {};
      const repo = uid ?? text(await make(repoMessage, { place }), "uid");
      return { repo, ...(await distributionFields(method, uid === undefined ? repo : undefined)) };
    }
    if (method.service === "gantry.images.v1.ImagePackagesService") {
      const repo = text(await make(repoMessage, { place }), "uid");
      const token = () => owners.token(rootOf(repo));
      await pushImage(openPusher(world, repo, token), "sample", [alpine, apk(["musl", "1.2.5-r0"])]);
      await world.server.contents.turn();
      return { repoUid: uid ?? repo, reference: "sample", ...(method.input.byName.has("to_reference") ? { toReference: "sample" } : {}) };
    }
    if (method.rpc === "ExportFindingDecisions") {
      if (uid === undefined) await decidedIn(place);
      return { parent: uid ?? place };
    }
    // The author cannot approve.
    if (method.rpc === "ApproveFindingDecision") return { uid: uid ?? (await createPendingDecision(world, place, () => owners.token(rootOf(place)))) };
    if (method.rpc === "PromoteImage") {
      const source = text(await make(repoMessage, { place }), "uid");
      await pushSample(source);
      return { repo: uid ?? text(await make(repoMessage, { place }), "uid"), tag: "sample", sourceRepo: source, sourceReference: "sample" };
    }
    let built: JsonObject = createOf(method.output.name) === method && !bodyField(method) ? await ownFieldsOf(method, seeds) : {};
    for (const field of method.input.fields) {
      if (built[field.json] !== undefined || liesBelowSubject(method, field)) continue;
      if (field.json === bodyField(method)?.json && field.message) built[field.json] = await bodyOf(field.message, seeds, whole);
      else if (field.name === "parent") built.parent = uid ?? (await parentFor(method, place));
      else if (field.shape === "list" && field.refersTo !== "" && parentKind(createOf(field.refersTo)) === parentKind(method)) {
        built[field.json] = await batched(field.refersTo, text(built, "parent"), uid);
      } else if ((field.required && !field.uid) || field.minItems > 0) built[field.json] = await valueOf(field, method.input, seeds, whole);
    }
    const path = method.scope ?? (method.input.byName.has("uid") ? ["uid"] : undefined);
    const subject = subjectOf(method);
    if (path && (valueAt(built, path) ?? "") === "" && subject) {
      const target = uid ?? text(await make(subject.name, { place, capabilities: names }), "uid");
      built = withValue(built, path, target);
      if (uid === undefined) await preparations[method.rpc]?.(target);
      if (uid === undefined && method.input.byName.get("etag")?.required) built.etag = await seen(subject, target);
    } else if (path && uid !== undefined) built = withValue(built, path, uid);
    else if (path && !subject) built = withValue(built, path, place);
    // A question about the caller at a place, which no capability is needed for.
    const asked = isForEverybody(method) && !path ? method.input.byName.get("place") : undefined;
    if (asked?.required) built = { ...built, place };
    if (method.service === namesService) {
      const name = text(await world.ok("iam.GroupsService/GetGroup", { uid: world.organization }), "name");
      if (method.rpc === "Lookup") built = { uids: [world.organization] };
      else built = method.input.byName.has("path") ? { path: name } : { query: name };
    }
    for (const field of method.input.fields) if (path && liesBelowSubject(method, field)) built[field.json] = [firstItemOf(String(valueAt(built, path)))];
    if (method.name === deleteOneself) {
      leaver = await colleague();
      built.id = leaver.uid;
    }
    if (method.name === getHeadlessSession) {
      const code = randomBytes(32).toString("base64url");
      headlessCodes.add(code);
      built.code = code;
      await putBack(method, built);
    }
    // The other path fields.
    for (const field of method.input.fields) {
      const [found, form] = new RegExp(`\\{${field.name}(=\\*\\*)?`).exec(method.http[0]?.template ?? "") ?? [];
      if (found === undefined || built[field.json] !== undefined) continue;
      const named = field.refersTo !== "" && uid === undefined ? seeds.refer(field.refersTo) : unusedUid(place);
      built[field.json] = !field.uid ? await valueOf(field, method.input, seeds) : form === undefined ? newRoot() : await named;
    }
    if (uid === undefined && (method.name === revokeSession || method.name === revokeGroupSession)) {
      sessionHolder ??= person();
      built.uid = await openSignInSession(place, (await sessionHolder).uid);
    }
    return { ...built, ...oneOfSeveral[method.name] };
  };

  /** The user of all revoked sessions. */
  let sessionHolder: Promise<Holder> | undefined;
  /** Starts a session through a new identity provider in the group; returns its uid. */
  const openSignInSession = async (place: string, identityUid: string): Promise<string> => {
    const identityProviderUid = text(await make("chainguard.platform.iam.v2.IdentityProvider", { place }), "uid");
    const [id, nowMs] = [newSessionId(), world.clock.now];
    const of = { id, identityUid, identityProviderUid, refreshTokenId: undefined, address: "192.0.2.7" };
    const begun = { ...of, program: { kind: "device", program: "gantry" } as const, expireTimesMs: [nowMs + 3_600_000] };
    await services.store.write((rows) => beginSession(rows, begun, nowMs));
    return `${identityProviderUid}/${id.slice(0, 16)}`;
  };

  const openRows = openOpenRows(services.authn.clientLimits);
  /** The keys of completed sign-ins. */
  const headlessCodes = new Set<string>();
  const putBack: Stage["putBack"] = async ({ name }, { code }) => {
    if (name !== getHeadlessSession || typeof code !== "string" || !headlessCodes.has(code)) return;
    const encrypted = { publicKey: code, encrypted: Buffer.from("a sealed token") };
    await services.store.write((rows) => storeHeadlessToken(rows, openRows, "", code, encrypted, world.clock.now));
  };

  const bind: Stage["bind"] = async (group, identity, role) => {
    const create = nonEmpty(
      methods.filter(({ output, rpc }) => output.name === bindingMessage && rpc === "CreateRoleBinding"),
      "CreateRoleBinding",
    )[0];
    const asked = { parent: group, roleBinding: { identityUid: identity, roleUid: role } };
    if (!create) return "";
    return text(operatorsRoles.has(role) ? await opened.ok(create.name, asked) : await ownerCall(create, asked), "uid");
  };

  const roles = new Map<string, Promise<string>>();
  const roleOf = (names: readonly string[], root: string): Promise<string> => {
    const key = `${root} ${[...names].sort().join()}`;
    let role = roles.get(key);
    if (!role) {
      role = make(roleMessage, { place: root, capabilities: withRequiredCapabilities(names) }).then((made) => text(made, "uid"));
      roles.set(key, role);
    }
    return role;
  };

  const stranger: Stage["stranger"] = async (group) => {
    const uid = text(await make(identityMessage, { place: group, parent: group }), "uid");
    return { uid, token: await world.token(uid) };
  };

  let verified: Promise<unknown> | undefined;
  const colleague = async (): Promise<Holder> => {
    const group = { uid: world.organization, name: ownDomain, verified: true, kind: "ORG_KIND_CUSTOMER" };
    // Only the operator verifies domains.
    await (verified ??= opened.ok("iam.GroupsService/UpdateGroup", { group, updateMask: "name,verified,kind" }));
    return person();
  };

  /** Creates a new user; no organization trusts their address yet. */
  const person = async (): Promise<Holder> => {
    const subject = `colleague ${next()}`;
    const email = `${subject.replace(" ", "-")}@${ownDomain}`;
    const uid = await registerPerson(world.server.application.kernel, { issuer: peopleIssuer, subject, email, name: "" });
    const act = { iss: peopleIssuer };
    return { uid, act, token: await services.authn.mint({ uid, audience: [services.publicUrl], act, email }) };
  };

  const holder: Stage["holder"] = async (names, place) => {
    const root = rootOf(place);
    const [held, role] = await Promise.all([stranger(root), roleOf(names, root)]);
    await bind(place, held.uid, role);
    return held;
  };

  /** Creates a user with a pending membership. */
  const boundStranger = async (): Promise<Holder> => {
    const [person, binder, role] = await Promise.all([
      colleague(),
      holder(["role_bindings.create", "repo.list"], world.organization),
      roleOf(["repo.list"], world.organization),
    ]);
    await world.ok(
      "iam.RoleBindingsService/CreateRoleBinding",
      { parent: world.organization, roleBinding: { identityUid: person.uid, roleUid: role } },
      { token: binder.token },
    );
    return person;
  };

  /** Returns one statement with a sum over each table. Sums of hashes avoid sorting, since suites run this around most refusals. */
  const statementOfSums = async (): Promise<string> => {
    // Rows that the server writes in the background are not part of a request's changes.
    const tables = await services.store.read.query(
      `select table_name from information_schema.tables
       where table_schema = current_schema() and table_type = 'BASE TABLE' and table_name not in ('idempotency_keys', 'blob_removals', 'retention_runs')
       order by 1`,
    );
    return tables.map(([table]) => `select '${table}', count(*), sum(hashtextextended(t::text, 0)) from ${table} as t`).join(" union all ");
  };
  let sumsOfTables: Promise<string> | undefined;

  /** The user of the last request to delete oneself. */
  let leaver: Holder | undefined;

  /** Returns a refresh token of a user who signed in through an identity provider. */
  const refreshToken = async (): Promise<string> => {
    const { uid } = await colleague();
    const identityProvider = text(await make("chainguard.platform.iam.v2.IdentityProvider"), "uid");
    const family = { identity: uid, identityProvider, act: {}, email: undefined, audience: [], capabilities: undefined, scopes: undefined };
    const made = await services.store.write((rows) => beginFamily(rows, family, world.clock.now));
    return made?.token ?? "";
  };

  return {
    callerOf: async (method, otherwise) => {
      if (method.rpc === "ExchangeRefreshToken") return { uid: "", token: await refreshToken() };
      if (method.rpc === "Register") return colleague();
      if (method.name === deleteOneself) return leaver ?? otherwise;
      if (method.name === revokeSession) {
        // Their token names no session, so the event does not depend on the sign-in.
        const { uid, token } = await (sessionHolder ??= person());
        return { uid, token };
      }
      if (method.name === revokeAllSessions) {
        // Not the session of the token, which would be refused from then on.
        const { uid, token } = await person();
        await openSignInSession(world.organization, uid);
        return { uid, token };
      }
      if (membershipAnswers.includes(method.name)) return boundStranger();
      // Names are found by those who can list them, and strangers hold nothing.
      if (method.service === namesService || (isForEverybody(method) && method.input.byName.get("place")?.required))
        return { uid: "", token: await owners.token() };
      return isForEverybody(method) ? colleague() : otherwise;
    },
    world,
    next,
    sampling,
    make,
    request,
    putBack,
    stranger,
    join: async ({ token }, group) => void (await opened.ok("gantry.memberships.v1.MembershipsService/AcceptMembership", { group }, { token })),
    bind,
    needsAt: (method, place) => {
      if (isOfOrganization(method)) return rootOf(place);
      const body = bodyField(method)?.message;
      return body?.fields.some(({ outputOnly, refersTo }) => !outputOnly && refersTo === groupMessage) ? rootOf(place) : place;
    },
    answers: (method) => !isScim(method) && kernel.answers.has((method.view?.of ?? method).name),
    owner: owners.token,
    tokenFor: (method, asked) => (bodyField(method.view?.of ?? method)?.message?.name === groupMessage ? opened.token() : owners.tokenFor(method.name, asked)),
    operator: () => opened.token(),
    operatorWorld: opened,
    call: (protocol, method, asked, options = {}) => callOver(protocol, world.url, method.name, asked, options),
    holder,
    query: (statement, values) => services.store.read.query(statement, values),
    async fingerprint() {
      const sums = await services.store.read.query(await (sumsOfTables ??= statementOfSums()));
      return sums.map((sum) => sum.join(" ")).join("\n");
    },
    close: () => world.close(),
  };
};

/** Creates a group in the organization for one test. */
export const folder = async (stage: Stage, parent = stage.world.organization): Promise<string> => text(await stage.make(groupMessage, { parent }), "uid");

/** Creates another organization with its own owner. */
export const neighbour = async (stage: Stage): Promise<{ readonly organization: string; readonly owner: Holder }> => {
  const organization = text(await stage.make(groupMessage, { parent: "" }), "uid");
  const owner = await stage.stranger(organization);
  await stage.bind(organization, owner.uid, builtInRoleUid("owner"));
  return { organization, owner };
};

/** Returns a request that succeeds; an image gets data first. */
export const answerableRequest = async (stage: Stage, method: MethodFact, place: string, whole: boolean): Promise<JsonObject> => {
  const organization = bodyField(method)?.message?.name === groupMessage;
  const made = organization && !method.input.byName.has("parent") ? text(await stage.make(groupMessage, { parent: "" }), "uid") : "";
  const request = await stage.request(method, { place, whole, ...(organization ? { uid: made } : {}) });
  // Of a list or of pulls, it is a filter.
  if (!method.input.byName.has("digest") || isList(method) || method.rpc === "GetPulls") return request;
  const repo = method.scope ? String(valueAt(request, method.scope)) : text(await stage.make(repoMessage, { place }), "uid");
  if (method.rpc.endsWith("VulnReport")) await writeTestReport(stage.world, repo, imageDigest);
  const fact = { repo, indexDigest: imageDigest, os: "linux", variant: "", sizeBytes: 4_503_599_627_370_496, createTime: "" };
  await stage.world.server.application.services.store.write((rows) =>
    insertManifests(
      rows,
      ["amd64", "arm64"].map((architecture) => ({ ...fact, architecture, digest: `${imageDigest}-${architecture}` })),
    ),
  );
  return { ...request, digest: imageDigest };
};

/** Returns an unused key. */
export const freshKey = (): string => randomBytes(8).toString("hex");
