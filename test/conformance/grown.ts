// What no operation makes: it comes of something else, or with an import. For the conformance suites, which want one
// of everything.

import { builtInRoleUid } from "#authz";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { matchImages } from "#advisories/feeds";
import { type FeedRecord, insertSboms, openFeed } from "#advisories/store";
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

/** Events get their place and their deliveries, and nothing is sent: samples of sinks are names of nobody. */
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

/** One in each ecosystem, each with a page and more of versions. */
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

/** Behind an import that made the packages of an image and an advisory on one of them. */
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

/** The coverage of an ecosystem that an image has a package of. */
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

/** An SBOM that a push has left to be read. */
const grownSbom = async (world: World, place: string): Promise<JsonObject> => {
  const repo = await world.ok("registry.ReposService/CreateRepo", { parent: place, repo: { name: `grown-${++made}` } });
  const digest = `sha256:${String(made).padStart(64, "0")}`;
  const { store, clock } = world.server.application.services;
  await store.write((rows) => insertSboms(rows, text(repo, "uid"), [{ digest, manifestDigest: digest, documentDigest: digest }], clock()));
  return firstRow(await world.ok("gantry.images.v1.ImageSbomsService/ListImageSboms", { digest }), "imageSboms");
};

/** A source that an import has begun to read. */
const grownFeed = async (world: World, place: string): Promise<JsonObject> => {
  const source = `grown-${++made}`;
  const opened = { kind: "advisories", group: place, source, sourceName: source, manner: "", license: undefined, author: "" };
  await world.server.application.services.store.write((rows) => openFeed(rows, opened));
  const { feeds } = await world.ok("gantry.feeds.v1.FeedsService/ListFeeds", { uidp: { childrenOf: place }, pageSize: 200 });
  return ((feeds ?? []) as JsonObject[]).find(({ sourceName }) => sourceName === source) ?? firstRow({}, "feeds");
};

/** Of each place: the person of its sessions, and the identity provider through which they began. */
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

/** The person of the sessions that grow at a place. */
export const personOfSessions = async (world: World, place: string): Promise<string> => (await signedInAt(world, place))[0];

/** A session of the place's person, who has it for longer than a page token lasts. */
const grownSession = async (world: World, place: string): Promise<JsonObject> => {
  const [identityUid, identityProviderUid] = await signedInAt(world, place);
  const [id, nowMs] = [newSessionId(), world.clock.now];
  const session = { id, identityUid, identityProviderUid, refreshTokenId: undefined, address: "192.0.2.7" };
  const begun = { ...session, program: { kind: "device", program: "gantry" } as const, expireTimesMs: [nowMs + 2 * limits.pageTokenLifetimeMs] };
  await world.server.application.services.store.write((rows) => beginSession(rows, begun, nowMs));
  const uidp = { ids: [`${identityProviderUid}/${id.slice(0, 16)}`] };
  return firstRow(await world.ok("gantry.sessions.v1.SessionsService/ListGroupSessions", { group: place, uidp }), "sessions");
};

/** A report of a day is there without anything to report. */
const grownReport = (): Promise<JsonObject> => Promise.resolve({});

const requestGroups = "chainguard.platform.libraries.v2beta1.RequestGroupsService";

/** Of the place's only submitted request: items come with it, and a library or version is what they ask for. */
const requests = new Map<string, JsonObject>();

/** A request group of this place that is submitted, with items enough for pages. */
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

/** What a request for grown things must say besides its sample, to find as many as there are. */
export const requestsOfGrown: Readonly<Record<string, JsonObject>> = {
  "chainguard.platform.advisory.v2.ResolvedVulnsReport": { startTime: "2024-01-01T00:00:00Z", endTime: "2024-01-14T00:00:00Z" },
  "chainguard.platform.libraries.v2beta1.RequestedLibraryVersion": { name: "requests", ecosystem: "ECOSYSTEM_PYTHON" },
};

/** By message name: makes one at the place, and returns it as its List shows it. */
export const grown: Readonly<Record<string, (world: World, place: string) => Promise<JsonObject>>> = {
  "gantry.events.v1.Delivery": grownDelivery,
  "gantry.events.v1.Event": grownEvent,
  "gantry.audit.v1.AuditEntry": grownEntry,
  "gantry.deletions.v1.Deletion": grownDeletion,
  "gantry.feeds.v1.Feed": grownFeed,
  "gantry.images.v1.AffectedImage": grownAffectedImage,
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
