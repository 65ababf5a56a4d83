// Creates resources that have no Create, since they follow from others or from an import, for the conformance suites.

import { builtInRoleUid } from "#authz";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { rootOf } from "#base/uid.ts";
import { matchImages } from "#advisories/feeds";
import { type FeedRecord, insertSboms, openFeed, writeFindingDay, writeHeldRecords } from "#advisories/store";
import { insertManifest } from "#registry/store";
import { registerPerson } from "../../server/application/person.ts";
import { beginSession, newSessionId } from "../../server/iam/signin/session.ts";
import { advisory, eventAt, writeTestFacts, writeTestRecords } from "../story/records.ts";
import type { World } from "../world.ts";

const firstRow = (reply: JsonObject, plural: string): JsonObject => {
  const [row] = (reply[plural] ?? []) as JsonObject[];
  if (!row) throw new Error(`nothing has grown: ${plural} are empty`);
  return row;
};

let made = 0;

/** Routes events and creates their deliveries without sending any, since the sample addresses do not exist. */
const enqueueAll = ({ server }: World): Promise<void> => server.delivery.enqueue();

const grownDelivery = async (world: World, place: string): Promise<JsonObject> => {
  const { uid } = await world.ok("events.SubscriptionsService/CreateSubscription", { parent: place, subscription: { sink: "https://hooks.example.com/" } });
  await enqueueAll(world);
  return firstRow(await world.ok("gantry.events.v1.DeliveriesService/ListDeliveries", { uidp: { childrenOf: String(uid) } }), "deliveries");
};

const grownEvent = async (world: World, place: string): Promise<JsonObject> => {
  const { uid } = await world.ok("registry.ReposService/CreateRepo", { parent: place, repo: { name: `grown-${++made}` } });
  await enqueueAll(world);
  const { events } = await world.ok("gantry.events.v1.EventsService/ListEvents", { uidp: { childrenOf: place }, orderBy: "position desc" });
  return firstRow({ events: (events as JsonObject[]).filter(({ subject }) => subject === uid) }, "events");
};

const grownEntry = async (world: World, place: string): Promise<JsonObject> => {
  const { uid } = await world.ok("registry.ReposService/CreateRepo", { parent: place, repo: { name: `grown-${++made}` } });
  await world.server.application.services.audit.finish();
  return firstRow(await world.ok("gantry.audit.v1.AuditService/ListAuditEntries", { subjects: [String(uid)] }), "auditEntries");
};

const grownDeletion = async (world: World, place: string): Promise<JsonObject> => {
  const uid = String((await world.ok("registry.ReposService/CreateRepo", { parent: place, repo: { name: `grown-${++made}` } })).uid);
  await world.ok("registry.ReposService/DeleteRepo", { uid });
  return firstRow(await world.ok("gantry.deletions.v1.DeletionsService/ListDeletions", { resourceUids: [uid] }), "deletions");
};

const grownAdvisory = async (world: World, place: string): Promise<JsonObject> => {
  const key = `CGA-grown-${++made}`;
  const kind = made % 3;
  const more = {
    legacyAdvisoryId: `CGA-old-${made}`,
    componentName: `lib${kind}`,
    componentLocation: `/usr/lib/lib${kind}.so`,
    aliases: [`CVE-2025-${kind}`, `GHSA-grown-${made}`],
  };
  await writeTestRecords(world, [advisory(key, more)], { group: place, public: false });
  return firstRow(await world.ok("vulnerabilities.AdvisoriesService/ListAdvisories", { advisoryIds: [key] }), "advisories");
};

const grownDocument = async (world: World): Promise<JsonObject> => {
  const key = `grown-${++made}`;
  await writeTestRecords(world, [advisory(key, { artifactName: key })]);
  return firstRow(await world.ok("advisory.SecurityAdvisoryService/ListDocuments", { id: key }), "documents");
};

const grownRecord = async (world: World): Promise<JsonObject> => {
  const id = `CVE-grown-${++made}`;
  await writeTestRecords(world, [{ kind: "vulnerability", id, aliases: [], state: "PUBLISHED", summary: "", details: "", severities: [], references: [] }]);
  await writeTestFacts(world, [
    { kind: "known exploit", id, dateAdded: "2026-01-02", dueDate: "2026-02-02", ransomware: true, requiredAction: "Apply mitigations" },
    { kind: "exploit prediction", id, score: 0.5, percentile: 0.75, date: "2026-01-02" },
  ]);
  return firstRow(await world.ok("advisory.SecurityAdvisoryService/ListVulnerabilityMetadata", { id }), "vulnerabilityMetadata");
};

/** Creates one in each ecosystem, each with more than a page of versions. */
const grownArtifact = async (world: World): Promise<JsonObject> => {
  const name = `grown-${++made}`;
  const versions = Array.from({ length: 13 }, (_, index) => ({ version: `1.${index}` }));
  const ecosystems = ["ECOSYSTEM_JAVA", "ECOSYSTEM_PYTHON"] as const;
  await writeTestRecords(
    world,
    ecosystems.map((ecosystem): FeedRecord => ({ kind: "library", ecosystem, name, versions })),
  );
  return firstRow(
    await world.ok("libraries.ArtifactsService/ListArtifacts", { ecosystems: [...ecosystems], query: name, orderBy: "create_time desc" }),
    "artifacts",
  );
};

const grownVersion = async (world: World): Promise<JsonObject> => {
  const { uid } = await grownArtifact(world);
  return firstRow(await world.ok("libraries.ArtifactsService/ListArtifactVersions", { artifactId: String(uid) }), "artifactVersions");
};

/** Imports an image's packages and an advisory about one of them. */
const grownAffectedImage = async (world: World, place: string): Promise<JsonObject> => {
  const name = `grown-${++made}`;
  const kind = made % 3;
  await writeTestRecords(
    world,
    [
      advisory(`CGA-${name}`, {
        artifactName: name,
        aliases: [`CVE-2025-${kind}`],
        events: [eventAt("2026-01-01T00:00:00Z", { fixed: { fixedVersion: "2-r0" } })],
      }),
      { kind: "image", repo: name, tag: "latest", architecture: "amd64", packages: [{ name, version: "1-r0" }] },
    ],
    { group: place, public: false },
  );
  await matchImages(world.server.application.services, { operation: "gantry import images", requestId: "grown" });
  return firstRow(await world.ok("gantry.images.v1.AffectedImagesService/ListAffectedImages", { packages: [name] }), "affectedImages");
};

const grownFinding = async (world: World, place: string): Promise<JsonObject> => {
  const { packageName } = await grownAffectedImage(world, place);
  await world.server.application.services.store.write((rows) => writeFindingDay(rows, rootOf(place), world.clock.now));
  return firstRow(await world.ok("gantry.findings.v1.FindingsService/ListFindings", { packages: [String(packageName)] }), "findings");
};

/** Creates the coverage of an ecosystem by a package of an image. */
const grownCoverage = async (world: World, place: string): Promise<JsonObject> => {
  const type = `grown${++made}`;
  await writeTestRecords(
    world,
    [{ kind: "image", repo: type, tag: "latest", architecture: "amd64", packages: [{ name: `pkg:${type}/lantern`, version: "1" }] }],
    { group: place, public: false },
  );
  await matchImages(world.server.application.services, { operation: "gantry import images", requestId: "grown" });
  const request = { ecosystems: [type] };
  return firstRow(await world.ok("gantry.vulnerabilities.v1.AdvisoryCoverageService/ListAdvisoryCoverage", request), "advisoryCoverage");
};

const grownSbom = async (world: World, place: string): Promise<JsonObject> => {
  const repo = await world.ok("registry.ReposService/CreateRepo", { parent: place, repo: { name: `grown-${++made}` } });
  const digest = `sha256:${String(made).padStart(64, "0")}`;
  const { store, clock } = world.server.application.services;
  await store.write((rows) => insertSboms(rows, text(repo, "uid"), [{ digest, manifestDigest: digest, documentDigest: digest }], clock()));
  return firstRow(await world.ok("gantry.images.v1.ImageSbomsService/ListImageSboms", { digest }), "imageSboms");
};

/** Stores a manifest, as a push does, with an image that waits to be read. */
const grownContents = async (world: World, place: string): Promise<JsonObject> => {
  const repo = await world.ok("registry.ReposService/CreateRepo", { parent: place, repo: { name: `grown-${++made}` } });
  const digest = `sha256:${String(made).padStart(64, "0")}`;
  const { store, clock } = world.server.application.services;
  const mediaType = "application/vnd.oci.image.manifest.v1+json";
  const rest = { content: "{}", sizeBytes: 2, artifactType: "", subject: "", annotations: undefined, blobs: [], children: [] };
  await store.write((rows) => insertManifest(rows, text(repo, "uid"), { sha256: digest, sha512: `sha512:${made}`, mediaType, ...rest }, undefined, clock()));
  return firstRow(await world.ok("gantry.images.v1.ImageContentsService/ListImageContents", { digest }), "imageContents");
};

/** Creates a source with its first import. */
const grownFeed = async (world: World, place: string): Promise<JsonObject> => {
  const source = `grown-${++made}`;
  const opened = { kind: "advisories", group: place, source, sourceName: source, manner: "", license: undefined, author: "" };
  await world.server.application.services.store.write((rows) => openFeed(rows, opened));
  const { feeds } = await world.ok("gantry.feeds.v1.FeedsService/ListFeeds", { uidp: { childrenOf: place }, pageSize: 200 });
  return ((feeds ?? []) as JsonObject[]).find(({ sourceName }) => sourceName === source) ?? firstRow({}, "feeds");
};

/** Creates a source whose last run held one record back. */
const grownHeldRecord = async (world: World, place: string): Promise<JsonObject> => {
  const { store, clock } = world.server.application.services;
  const recordId = `GROWN-${++made}`;
  const opened = { kind: "advisories", group: place, source: recordId, sourceName: recordId, manner: "", license: undefined, author: "" };
  const held = { kind: "WITHDRAWAL", key: recordId, recordId, packageName: "lantern", modifyTime: "2026-01-01T00:00:00Z", sourceModifyTime: "" } as const;
  await store.write(async (rows) => writeHeldRecords(rows, (await openFeed(rows, opened)).id, [held], clock()));
  const request = { uidp: { descendantsOf: place }, orderBy: "record_id desc", pageSize: 200 };
  const { heldRecords } = await world.ok("gantry.feeds.v1.HeldRecordsService/ListHeldRecords", request);
  return ((heldRecords ?? []) as JsonObject[]).find((each) => each.recordId === recordId) ?? firstRow({}, "heldRecords");
};

/** For each group: the user of its sessions, and the identity provider of their sign-in. */
const signedIn = new Map<string, Promise<readonly [person: string, identityProviderUid: string]>>();

const signedInAt = (world: World, place: string): Promise<readonly [person: string, identityProviderUid: string]> => {
  const begin = async (): Promise<readonly [string, string]> => {
    const name = `grown-${++made}`;
    const identityProvider = {
      name,
      defaultRole: builtInRoleUid("viewer"),
      oidc: { issuer: `https://${name}.example.com`, clientId: name, clientSecret: name },
    };
    const { uid } = await world.ok("iam.IdentityProvidersService/CreateIdentityProvider", { parent: place, identityProvider });
    const person = { issuer: "https://people.example.com", subject: name, email: "", name: "" };
    return [await registerPerson(world.server.application.kernel, person), String(uid)];
  };
  const known = signedIn.get(place) ?? begin();
  signedIn.set(place, known);
  return known;
};

/** Returns the user of the sessions in a group. */
export const personOfSessions = async (world: World, place: string): Promise<string> => (await signedInAt(world, place))[0];

/** Creates a session of the group's user that outlasts a page token. */
const grownSession = async (world: World, place: string): Promise<JsonObject> => {
  const [identityUid, identityProviderUid] = await signedInAt(world, place);
  const [id, nowMs] = [newSessionId(), world.clock.now];
  const session = { id, identityUid, identityProviderUid, refreshTokenId: undefined, address: "192.0.2.7" };
  const begun = { ...session, program: { kind: "device", program: "gantry" } as const, expireTimesMs: [nowMs + 2 * limits.pageTokenLifetimeMs] };
  await world.server.application.services.store.write((rows) => beginSession(rows, begun, nowMs));
  const uidp = { ids: [`${identityProviderUid}/${id.slice(0, 16)}`] };
  return firstRow(await world.ok("gantry.sessions.v1.SessionsService/ListGroupSessions", { group: place, uidp }), "sessions");
};

/** A daily report exists even if empty. */
const grownReport = (): Promise<JsonObject> => Promise.resolve({});

const requestGroups = "chainguard.platform.libraries.v2beta1.RequestGroupsService";

/** For each group, its only submitted request: items come with it, and a library or version is requested. */
const requests = new Map<string, JsonObject>();

/** Returns this group's submitted request group, with more than a page of items. */
const submittedRequest = async (world: World, place: string): Promise<JsonObject> => {
  const known = requests.get(place);
  if (known) return known;
  const items = Array.from({ length: 13 }, (_, index) => [`grown-${index}==1.${index}`, `requests==1.${index}`]).flat();
  const { uid } = await world.ok(`${requestGroups}/CreateRequestGroup`, { parent: place, items, format: "INPUT_FORMAT_REQUIREMENTS_TXT" });
  const submitted = await world.ok(`${requestGroups}/SubmitRequestGroup`, { uid: String(uid) });
  requests.set(place, submitted);
  return submitted;
};

const grownItem = async (world: World, place: string): Promise<JsonObject> => {
  const { uid } = await submittedRequest(world, place);
  return firstRow(await world.ok(`${requestGroups}/ListRequestGroupItems`, { uid: String(uid) }), "requestGroupItems");
};

const grownLibrary = async (world: World, place: string): Promise<JsonObject> => {
  await submittedRequest(world, place);
  return firstRow(await world.ok(`${requestGroups}/ListRequestedLibraries`, { parent: place }), "requestedLibraries");
};

const grownLibraryVersion = async (world: World, place: string): Promise<JsonObject> => {
  await submittedRequest(world, place);
  const asked = { parent: place, name: "requests", ecosystem: "ECOSYSTEM_PYTHON" };
  return firstRow(await world.ok(`${requestGroups}/ListRequestedLibraryVersions`, asked), "requestedLibraryVersions");
};

/** Additional request fields that a list of these resources needs. */
export const requestsOfGrown: Readonly<Record<string, JsonObject>> = {
  "chainguard.platform.advisory.v2.ResolvedVulnsReport": { startTime: "2024-01-01T00:00:00Z", endTime: "2024-01-14T00:00:00Z" },
  "chainguard.platform.libraries.v2beta1.RequestedLibraryVersion": { name: "requests", ecosystem: "ECOSYSTEM_PYTHON" },
};

/** By message name: creates one in the group, and returns it as its List shows it. */
export const grown: Readonly<Record<string, (world: World, place: string) => Promise<JsonObject>>> = {
  "gantry.events.v1.Delivery": grownDelivery,
  "gantry.events.v1.Event": grownEvent,
  "gantry.audit.v1.AuditEntry": grownEntry,
  "gantry.deletions.v1.Deletion": grownDeletion,
  "gantry.feeds.v1.Feed": grownFeed,
  "gantry.feeds.v1.HeldRecord": grownHeldRecord,
  "gantry.findings.v1.Finding": grownFinding,
  "gantry.images.v1.AffectedImage": grownAffectedImage,
  "gantry.images.v1.ImageContents": grownContents,
  "gantry.images.v1.ImageSbom": grownSbom,
  "gantry.sessions.v1.Session": grownSession,
  "gantry.vulnerabilities.v1.AdvisoryCoverage": grownCoverage,
  "chainguard.platform.vulnerabilities.v2.Advisory": grownAdvisory,
  "chainguard.platform.advisory.v2.Document": grownDocument,
  "chainguard.platform.advisory.v2.VulnerabilityMetadata": grownRecord,
  "chainguard.platform.advisory.v2.ResolvedVulnsReport": grownReport,
  "chainguard.platform.libraries.v2.Artifact": grownArtifact,
  "chainguard.platform.libraries.v2.ArtifactVersion": grownVersion,
  "chainguard.platform.libraries.v2beta1.RequestGroupItem": grownItem,
  "chainguard.platform.libraries.v2beta1.RequestedLibrary": grownLibrary,
  "chainguard.platform.libraries.v2beta1.RequestedLibraryVersion": grownLibraryVersion,
};
