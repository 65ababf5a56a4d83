// The Helm chart, rendered by Helm itself with the values that people use. deploy.test.ts checks the manifest that is rendered from it.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { parse, parseAllDocuments } from "yaml";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { kubeVersion, renderManifest } from "../../tools/render-manifest.ts";
import { checkKubernetes, helm, kubeconform } from "./judges.ts";

const root = join(import.meta.dirname, "..", "..");
const chart = join(root, "deploy/helm/gantry");
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const folder = mkdtempSync(join(tmpdir(), "gantry-chart-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const skip = helm.missing;

type Values = Readonly<Record<string, unknown>>;

/** Two servers' values, as far as they are external. */
const external: Values = {
  publicUrl: "https://gantry.example.com",
  database: { existingSecret: "gantry-database", owner: { existingSecret: "gantry-database-owner" } },
  secretKey: { existingSecret: "gantry-key" },
  storage: { blobs: "s3://gantry/blobs?region=eu-central-1", existingSecret: "gantry-storage" },
};
const embedded: Values = { publicUrl: "https://gantry.example.com" };

let files = 0;
const run = (values: Values): { readonly status: number | null; readonly stdout: string; readonly stderr: string } => {
  const file = join(folder, `${files++}.json`);
  writeFileSync(file, JSON.stringify(values));
  return spawnSync(helm.program, ["template", "gantry", chart, "--namespace", "gantry", "--kube-version", kubeVersion, "--values", file], { encoding: "utf8" });
};
const render = (values: Values): JsonObject[] => {
  const { status, stdout, stderr } = run(values);
  assert.equal(status, 0, stderr);
  return parseAllDocuments(stdout, { version: "1.1" }).map((document) => document.toJS() as JsonObject);
};
const refusal = (values: Values): string => {
  const { status, stderr } = run(values);
  assert.equal(status, 1, JSON.stringify(values));
  return stderr;
};
const kinds = (manifests: readonly JsonObject[]): string[] => manifests.map(({ kind }) => String(kind)).sort();
const at = (value: Json | undefined, ...path: readonly (string | number)[]): Json | undefined =>
  path.reduce<Json | undefined>((from, key) => (Array.isArray(from) ? from[Number(key)] : isObject(from) ? from[key] : undefined), value);
const ofKind = (manifests: readonly JsonObject[], kind: string): JsonObject => manifests.find((each) => each.kind === kind) ?? assert.fail(`no ${kind}`);

test("the manifest in deploy/kubernetes is what the chart renders", { skip }, () => {
  assert.equal(read("deploy/kubernetes/gantry.yaml"), renderManifest(helm.program), "npm run manifests");
});

test("helm lint finds nothing in the chart, with either kind of values", { skip }, () => {
  for (const values of [embedded, { ...external, replicas: 2 }]) {
    const file = join(folder, "lint.json");
    writeFileSync(file, JSON.stringify(values));
    const { status, stdout, stderr } = spawnSync(helm.program, ["lint", "--strict", "--kube-version", kubeVersion, chart, "--values", file], {
      encoding: "utf8",
    });
    assert.equal(status, 0, `${stdout}${stderr}`);
  }
});

test("more than one server is refused without an external PostgreSQL and S3, by number and by autoscaling", { skip }, () => {
  for (const several of [{ replicas: 2 }, { autoscaling: { enabled: true } }, { autoscaling: { enabled: true, minReplicas: 1, maxReplicas: 1 } }]) {
    assert.match(refusal({ ...embedded, ...several }), /needs a PostgreSQL that all servers share: set database\.existingSecret/);
    assert.match(refusal({ ...external, storage: {}, ...several }), /needs a storage that all servers share: set storage\.blobs to an s3:\/\/ address/);
    render({ ...external, ...several });
  }
  // One server needs neither, nor both.
  render(embedded);
  render({ ...external, storage: {} });
});

test("values that cannot work are refused, each with its name", { skip }, () => {
  const refused: readonly (readonly [Values, RegExp])[] = [
    [{}, /publicUrl is required/],
    [{ ...embedded, publicUrl: "gantry.example.com" }, /publicUrl/],
    [{ ...external, secretKey: {} }, /database\.existingSecret needs secretKey\.existingSecret/],
    [{ ...embedded, database: { owner: { existingSecret: "owner" } } }, /database\.owner and database\.readReplica need/],
    [{ ...embedded, metrics: { enabled: false, serviceMonitor: { enabled: true } } }, /serviceMonitor\.enabled needs metrics\.enabled/],
    [{ ...external, replicas: 2, podDisruptionBudget: { minAvailable: 2 } }, /minAvailable must be below replicas/],
    [{ ...external, autoscaling: { enabled: true, minReplicas: 3, maxReplicas: 2 } }, /minReplicas must not be above/],
    [{ ...embedded, config: { GANTRY_BLOBS: "/srv" } }, /config\.GANTRY_BLOBS: the chart sets this itself/],
    [{ ...embedded, config: { DATABASE_URL: "postgresql://" } }, /DATABASE_URL/],
    [{ ...embedded, replica: 2 }, /additional properties 'replica' not allowed/],
    [{ ...embedded, storage: { blobs: "/srv/blobs" } }, /blobs/],
    [{ ...embedded, replicas: "2" }, /replicas/],
  ];
  for (const [values, message] of refused) assert.match(refusal(values), message);
});

test("one server with the embedded PostgreSQL keeps its data in a volume, and is never there twice", { skip }, () => {
  const manifests = render(embedded);
  assert.deepEqual(kinds(manifests), ["ConfigMap", "Deployment", "NetworkPolicy", "PersistentVolumeClaim", "Service", "ServiceAccount"]);
  const deployment = ofKind(manifests, "Deployment");
  assert.deepEqual(at(deployment, "spec", "strategy"), { type: "Recreate" });
  assert.deepEqual(at(deployment, "spec", "template", "spec", "volumes", 0), { name: "data", persistentVolumeClaim: { claimName: "gantry" } });
  assert.equal(at(deployment, "spec", "template", "spec", "initContainers"), undefined);
  assert.equal(at(ofKind(manifests, "PersistentVolumeClaim"), "metadata", "annotations", "helm.sh/resource-policy"), "keep");
});

test("a compatible version rolls out without a server missing, and a breaking one stops every server first", { skip }, () => {
  const strategy = (values: Values): Json | undefined => at(ofKind(render({ ...external, replicas: 3, ...values }), "Deployment"), "spec", "strategy");
  assert.deepEqual(strategy({}), { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } });
  assert.deepEqual(strategy({ upgrade: { breaking: true } }), { type: "Recreate" });
});

test("only the migration has the owner's connection, and a changed setting starts new pods", { skip }, () => {
  const pod = (values: Values): Json | undefined => at(ofKind(render(values), "Deployment"), "spec", "template");
  const template = pod(external);
  assert.match(JSON.stringify(at(template, "spec", "initContainers")), /gantry-database-owner/);
  assert.doesNotMatch(JSON.stringify(at(template, "spec", "containers")), /gantry-database-owner/);
  const checksum = (values: Values): Json | undefined => at(pod(values), "metadata", "annotations", "checksum/settings");
  assert.notEqual(checksum(external), checksum({ ...external, config: { GANTRY_WORKERS: "2" } }));
});

/** Everything that can be switched on. */
const everything: Values = {
  ...external,
  image: { repository: "registry.example.com/gantry", digest: `sha256:${"a".repeat(64)}`, pullSecrets: ["pull"] },
  database: { existingSecret: "db", owner: { existingSecret: "owner" }, readReplica: { existingSecret: "replica" } },
  autoscaling: { enabled: true, minReplicas: 2, maxReplicas: 6 },
  ingress: { enabled: true, className: "nginx", tlsSecret: "tls", annotations: { "nginx.ingress.kubernetes.io/proxy-body-size": "0" } },
  metrics: { serviceMonitor: { enabled: true, labels: { release: "prometheus" } } },
  networkPolicy: { extraEgress: [{ to: [{ ipBlock: { cidr: "10.1.0.0/16" } }], ports: [{ port: 9000 }] }] },
  service: { annotations: { "example.com/one": "1" } },
  serviceAccount: { annotations: { "eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/gantry" } },
  extraEnv: [{ name: "GANTRY_METRICS_TOKEN_FILE", value: "/etc/metrics/token" }],
  extraVolumes: [{ name: "metrics", secret: { secretName: "metrics" } }],
  extraVolumeMounts: [{ name: "metrics", mountPath: "/etc/metrics", readOnly: true }],
  podAnnotations: { "example.com/two": "2" },
  nodeSelector: { "kubernetes.io/arch": "arm64" },
  tolerations: [{ key: "gantry", operator: "Exists" }],
  affinity: { nodeAffinity: {} },
  namespace: { create: true },
};

test("with everything on, each object is there, the autoscaler owns the number of pods, and Prometheus' job is named gantry", { skip }, () => {
  const manifests = render(everything);
  assert.deepEqual(kinds(manifests), [
    ...["ConfigMap", "Deployment", "HorizontalPodAutoscaler", "Ingress", "Namespace", "NetworkPolicy", "PodDisruptionBudget"],
    ...["Service", "Service", "ServiceAccount", "ServiceMonitor"],
  ]);
  assert.equal(at(ofKind(manifests, "Deployment"), "spec", "replicas"), undefined);
  assert.equal(at(ofKind(manifests, "Ingress"), "spec", "rules", 0, "host"), "gantry.example.com");
  const monitor = ofKind(manifests, "ServiceMonitor");
  const labels = at(
    manifests.find((each) => each.kind === "Service" && at(each, "metadata", "name") === "gantry-metrics"),
    "metadata",
    "labels",
  );
  assert.equal(at(labels, String(at(monitor, "spec", "jobLabel"))), "gantry");
  for (const [label, value] of Object.entries(at(monitor, "spec", "selector", "matchLabels") as JsonObject)) assert.equal(at(labels, label), value);
  assert.equal(at(monitor, "spec", "endpoints", 0, "port"), "metrics");
});

test("the schemas of Kubernetes and of the Prometheus operator accept every rendered object", { skip: skip || kubeconform.missing }, () => {
  for (const values of [embedded, { ...external, replicas: 2 }, everything]) {
    const { status, output } = checkKubernetes(run(values).stdout);
    assert.equal(status, 0, output);
  }
});

test("values.schema.json and the comments of values.yaml cover every value, and the chart has the version of Gantry", () => {
  const schema = JSON.parse(read("deploy/helm/gantry/values.schema.json")) as JsonObject;
  const missing = (values: JsonObject, of: Json | undefined, path: string): string[] =>
    Object.entries(values).flatMap(([name, value]) => {
      const reference = at(of, "properties", name, "$ref");
      const found = typeof reference === "string" ? at(schema, ...reference.split("/").slice(1)) : at(of, "properties", name);
      if (found === undefined) return [`${path}${name}`];
      return isObject(value) && at(found, "additionalProperties") === false ? missing(value, found, `${path}${name}.`) : [];
    });
  const source = read("deploy/helm/gantry/values.yaml");
  const values = parse(source) as JsonObject;
  assert.deepEqual(missing(values, schema, ""), []);
  const { version } = JSON.parse(read("package.json")) as { version: string };
  const { version: own, appVersion } = parse(read("deploy/helm/gantry/Chart.yaml")) as JsonObject;
  assert.deepEqual([own, appVersion], [version, version]);
});
