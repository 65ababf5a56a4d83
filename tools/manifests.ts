// `npm run manifests`: writes deploy/kubernetes/gantry.yaml as the Helm chart renders it. Needs Helm; the variable HELM names its program.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { renderManifest } from "./render-manifest.ts";

writeFileSync(join(import.meta.dirname, "../deploy/kubernetes/gantry.yaml"), renderManifest(process.env.HELM ?? "helm"));
