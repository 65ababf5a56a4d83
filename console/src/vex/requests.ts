// Requests about trusted sources of VEX.

import type { ListVexSourcesResponse, VexSource, VexSourceInput } from "../../../client/package.ts";
import type { Question } from "../api.ts";
import type { Scope } from "../places.tsx";
import { pageFrom } from "../questions.ts";

export const vexSourcesAt = (scope: Scope, skip: number): Question<ListVexSourcesResponse> => {
  const request = { uidp: scope, ...pageFrom(skip) };
  return { name: "findings.vex-sources.list", request, send: (gantry, signal) => gantry.findings.vexSources.list(request, { signal }).page() };
};

export const createVexSource = (parent: string, vexSource: VexSourceInput): Question<VexSource> => ({
  name: "findings.vex-sources.create",
  request: { parent, vexSource },
  send: (gantry, signal) => gantry.findings.vexSources.create({ parent, vexSource }, { signal }),
});

export const deleteVexSource = (uid: string): Question<void> => ({
  name: "findings.vex-sources.delete",
  request: { uid },
  send: (gantry, signal) => gantry.findings.vexSources.delete({ uid }, { signal }),
});
