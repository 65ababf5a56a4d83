// MCP on the server's port: its tools call operations of this process through the request pipeline.

import type { Endpoint } from "#base/endpoint.ts";
import { isObject, type Json } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { makeAdmit } from "#kernel";
import { openMcp } from "#mcp";
import { errorBody, logFault, readJsonText, withDeadline } from "#transport";
import type { Application } from "./application.ts";
import type { Settings } from "./settings.ts";
import { version } from "./version.ts";

/** Returns the MCP endpoint of a path, if any. */
export const openMcpEndpoints = (
  { kernel, serve }: Pick<Application, "kernel" | "serve">,
  settings: Settings,
  log: Log,
): ((path: string) => Endpoint | undefined) =>
  openMcp({
    publicUrl: settings.publicUrl,
    audiences: settings.audiences,
    corsOrigins: settings.corsOrigins,
    version,
    admit: makeAdmit(kernel),
    serve: (call, caller) => withDeadline(limits.callDeadlineMs, () => serve(call, caller)),
    refusalOf: (fault, { domain, call, requestId }) => {
      const context = { domain, serviceDomain: settings.serviceDomain, requestId };
      logFault(log, fault, context, `mcp ${call}`);
      const body = JSON.parse(errorBody(fault, context)) as Json;
      return isObject(body) ? body : {};
    },
    parse: readJsonText,
  });
