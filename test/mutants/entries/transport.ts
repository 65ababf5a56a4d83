// Messages, connections and floods.

import type { Mutant } from "../mutant.ts";

const frames = "server/transport/frames.ts";
const body = "server/transport/body.ts";
const budget = "server/transport/budget.ts";
const decode = "server/transport/decode.ts";
const probe = "server/db/probe.ts";

export const transport: readonly Mutant[] = [
  { attack: 47, file: decode, find: "if (values > valuesMax) throw new BudgetExceeded", replace: "if (false) throw new BudgetExceeded" },
  { attack: 47, file: frames, find: "if (length > maxBytes) throw new Fault(", replace: "if (false) throw new Fault(" },
  {
    attack: 48,
    file: budget,
    find: "if (++depth > depthMax) return tooDeep(depthMax);\n        if (++values > valuesMax) return",
    replace: "if (++depth > depthMax) return tooDeep(depthMax);\n        if (false) return",
  },
  { attack: 48, file: budget, find: "if (++depth > depthMax) return tooDeep(depthMax);", replace: "" },
  { attack: 50, file: frames, find: "if (flag > 1) throw new Fault(", replace: "if (false) throw new Fault(" },
  { attack: 215, file: body, find: "if (!isUtf8(bytes)) throw new Fault(", replace: "if (false) throw new Fault(" },
  { attack: 29, file: body, find: "if (!context.reserveBytes(chunk.length)) return finish(tooManyBodies());", replace: "" },
  { attack: 40, file: probe, find: "    watches.cut();\n", replace: "" },
  { attack: 40, file: "server/db/pool.ts", find: "if (failed && isCommitSent && opening", replace: "if (false && failed && opening" },
  { attack: 57, file: probe, find: "    if (heard()) {\n", replace: "    if (false) {\n" },
  { attack: 13, file: "server/kernel/paging.ts", find: "Math.min(size, limits.pageSizeMax)", replace: "size" },
];
