// The audit log, backups, metrics.

import type { Mutant } from "../mutant.ts";

const verify = "server/audit/log/verify.ts";
const verifyStep = "server/audit/resources/verify-audit-entries.ts";
const verifiedPart = "server/audit/log/verified-part.ts";
const verifyBackup = "server/backup/verify-backup.ts";
const archive = "server/backup/archive.ts";

export const audit: readonly Mutant[] = [
  { attack: 31, file: verify, find: "if (hash !== stored.hash) return", replace: "if (false) return" },
  { attack: 31, file: verify, find: "if (found !== sequence + 1) return", replace: "if (false) return" },
  {
    attack: 32,
    file: "server/audit/log/refusals.ts",
    find: 'if (tracked && written < siblings.share(caller === "" ? limits.refusalsUnknownMax : limits.refusalsPerCallerMax)) {',
    replace: "if (tracked) {",
  },
  { attack: 389, file: verifiedPart, find: "nowMs - sinceMs < limits.verifiedPartMs", replace: "true" },
  { attack: 389, file: verifiedPart, find: "return isKept && isCompared ? part", replace: "return isKept ? part" },
  { attack: 394, file: verifyStep, find: "if (!isRecent(part, nowMs)) throw", replace: "if (false) throw" },
  {
    attack: 394,
    file: verifiedPart,
    find: "vault.seal(purpose, JSON.stringify(part), [part.root]);",
    replace: "vault.seal(purpose, JSON.stringify(part), boundWithin);",
  },
  { attack: 395, file: verifyStep, find: "context.require(method.capabilities, root);", replace: "" },
  { attack: 182, file: verifyBackup, find: "if (manifest.sums !== sums) throw", replace: "if (false) throw" },
  { attack: 183, file: archive, find: "if (memberKindOf(name) === undefined) throw", replace: "if (false) throw" },
  { attack: 183, file: archive, find: 'if (header.type !== "file") throw', replace: "if (false) throw" },
  { attack: 183, file: archive, find: "if (!found.isFile()) throw", replace: "if (false) throw" },
  {
    attack: 187,
    file: "server/metrics/registry.ts",
    find: "isOpen && values.size < limits.metricLabelValuesMax && value.length",
    replace: "isOpen && value.length",
  },
];
