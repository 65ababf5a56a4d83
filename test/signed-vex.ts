// Fixture for trusted sources of VEX: keys, signed OpenVEX attestations, and organizations with findings in a package "lantern".

import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { type JsonObject, objectList, part, text } from "#base/json.ts";
import { openDecisionsStage, type DecisionsStage, type Organization } from "./decisions-stage.ts";
import { openPusher, type Pushed } from "./pusher.ts";

export const sourcesService = "gantry.findings.v1.VexSourcesService";

export const cve = "CVE-2026-7001";
export const statementType = "application/vnd.in-toto+json";
const openVexType = "https://openvex.dev/ns/v0.2.0";
export const envelopeType = "application/vnd.dsse.envelope.v1+json";
export const bundleType = "application/vnd.dev.sigstore.bundle.v0.3+json";

export interface SigningKey {
  /** In PEM. */
  readonly publicKey: string;
  readonly sign: (message: Uint8Array) => Buffer;
}

const signingKey = ({ publicKey, privateKey }: { publicKey: KeyObject; privateKey: KeyObject }, hash: string | null): SigningKey => ({
  publicKey: publicKey.export({ format: "pem", type: "spki" }).toString(),
  sign: (message) => sign(hash, message, privateKey),
});

export const p256Key = (): SigningKey => signingKey(generateKeyPairSync("ec", { namedCurve: "P-256" }), "sha256");
export const p384Key = (): SigningKey => signingKey(generateKeyPairSync("ec", { namedCurve: "P-384" }), "sha384");
export const ed25519Key = (): SigningKey => signingKey(generateKeyPairSync("ed25519"), null);
export const rsaKey = (): SigningKey => signingKey(generateKeyPairSync("rsa", { modulusLength: 2048 }), "sha256");

export const notAffected = (statement: JsonObject = {}): JsonObject => ({
  vulnerability: { name: cve },
  status: "not_affected",
  justification: "vulnerable_code_not_present",
  impact_statement: "The parser is not built.",
  ...statement,
});

export const openvex = (statements: readonly JsonObject[], timestamp = "2026-01-15T00:00:00Z"): JsonObject => ({
  "@context": openVexType,
  author: "Supplier Inc.",
  timestamp,
  version: 1,
  statements: [...statements],
});

/** An in-toto statement about the image with this digest. */
export const statementAbout = (digest: string, predicate: JsonObject, more: JsonObject = {}): JsonObject => ({
  _type: "https://in-toto.io/Statement/v1",
  predicateType: openVexType,
  subject: [{ name: "image", digest: { sha256: digest.replace("sha256:", "") } }],
  predicate,
  ...more,
});

const preAuthentication = (payloadType: string, payload: string): Buffer =>
  Buffer.from(`DSSEv1 ${Buffer.byteLength(payloadType)} ${payloadType} ${Buffer.byteLength(payload)} ${payload}`);

export const envelope = (statement: JsonObject, keys: readonly SigningKey[], payloadType = statementType): JsonObject => {
  const payload = JSON.stringify(statement);
  const message = preAuthentication(payloadType, payload);
  const signatures = keys.map((key, index) => ({ keyid: `key ${index}`, sig: key.sign(message).toString("base64") }));
  return { payloadType, payload: Buffer.from(payload).toString("base64"), signatures };
};

export interface Supplied extends Organization {
  /** The repo's path of names, and an image in it with the vulnerable package. */
  readonly path: string;
  readonly digest: string;
}

export interface VexStage extends DecisionsStage {
  /** Creates an organization with an advisory on the package and an image that has it. */
  open(): Promise<Supplied>;
  /** Attaches a document to the image by the subject of a manifest, and reads it. */
  attach(image: Supplied, document: JsonObject, mediaType?: string): Promise<Pushed>;
  /** Trusts a key, verifies documents that were pushed before, and returns the uid of the source. */
  trust(organization: Organization, key: SigningKey, source?: JsonObject, parent?: string): Promise<string>;
  distrust(organization: Organization, uid: string): Promise<void>;
  findings(organization: Organization): Promise<JsonObject[]>;
  /** Returns "STATE DECISION" for each finding, such as "AFFECTED -" or "SUPPRESSED NOT_AFFECTED", and of statements the source. */
  states(organization: Organization): Promise<string[]>;
}

const allStates = ["AFFECTED", "UNDER_INVESTIGATION", "SUPPRESSED"].map((state) => `AFFECTED_IMAGE_STATE_${state}`);

const describe = (finding: JsonObject): string => {
  const decision = part(finding, "decision");
  const decided = decision.vexFixed === true ? "FIXED" : text(decision, "state").replace("FINDING_DECISION_STATE_", "") || "-";
  const source = text(decision, "vexSource");
  return [text(finding, "state").replace("AFFECTED_IMAGE_STATE_", ""), decided, ...(source === "" ? [] : [source])].join(" ");
};

export const openVexStage = async (): Promise<VexStage> => {
  const stage = await openDecisionsStage();
  const { world } = stage;
  let made = 0;
  const pusherOf = ({ path, token }: Supplied) => openPusher(world, path, token);
  const findings: VexStage["findings"] = async ({ group, token }) => {
    const request = { uidp: { descendantsOf: group }, states: allStates, orderBy: "package_name" };
    return objectList(await world.ok("gantry.findings.v1.FindingsService/ListFindings", request, { token: await token() }), "findings");
  };
  return {
    ...stage,
    findings,
    open: async () => {
      const organization = await stage.newOrganization();
      await stage.importRecord(organization, `GHSA-${++made}`, [cve], "lantern");
      const path = `${organization.name}/web`;
      return { ...organization, path, digest: await stage.push(organization, path, "lantern") };
    },
    attach: async (image, document, mediaType = envelopeType) => {
      const pusher = pusherOf(image);
      const manifest = await pusher.send("GET", `manifests/${image.digest}`, undefined, { accept: "*/*" });
      const content = await manifest.text();
      const subject = { digest: image.digest, sizeBytes: Buffer.byteLength(content), mediaType: manifest.headers.get("content-type") ?? "" };
      const attached = await pusher.artifact([await pusher.blob(JSON.stringify(document), mediaType)], { subject });
      await stage.turn();
      return attached;
    },
    trust: async ({ group, token }, key, source = {}, parent = group) => {
      const vexSource = { name: `supplier ${++made}`, publicKey: key.publicKey, ...source };
      const reply = await world.ok(`${sourcesService}/CreateVexSource`, { parent, vexSource }, { token: await token() });
      await stage.turn();
      return text(reply, "uid");
    },
    distrust: async ({ token }, uid) => {
      await world.ok(`${sourcesService}/DeleteVexSource`, { uid }, { token: await token() });
      await stage.turn();
    },
    states: async (organization) => (await findings(organization)).map(describe),
  };
};
