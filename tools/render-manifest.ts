// deploy/kubernetes/gantry.yaml, rendered from the Helm chart with the values of deploy/helm/plain.yaml.

import { execFileSync } from "node:child_process";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

const head = `# Gantry on Kubernetes: two servers on your own PostgreSQL and S3-compatible storage. Rendered from the chart in deploy/helm/gantry with
# the values of deploy/helm/plain.yaml: change those, not this file. docs/operate/install.md, "On Kubernetes", says which secrets to create
# and which values to change (address, bucket, namespaces) before:
#   kubectl apply -f deploy/kubernetes/gantry.yaml

`;

/** The version of Kubernetes to render for: a Helm built from its modules does not know one. */
export const kubeVersion = "1.31.0";

/** Returns the manifest as the chart renders it now. */
export const renderManifest = (helm: string): string => {
  const args = ["template", "gantry", "deploy/helm/gantry", "--namespace", "gantry", "--kube-version", kubeVersion, "--values", "deploy/helm/plain.yaml"];
  const rendered = execFileSync(helm, args, { cwd: root, encoding: "utf8" });
  return head + rendered.replace(/^---\n/, "").replaceAll(/^# Source: .*\n/gm, "");
};
