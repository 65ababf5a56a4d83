// grpc.health.v1: whether the server can do its work, asked once or watched. Open to everybody, as load balancers
// have no token.

import { create, toBinary } from "@bufbuild/protobuf";
import { Fault, toFault } from "#base/fault.ts";
import { methods } from "#contract/catalog.ts";
import {
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as Serving,
  HealthCheckResponseSchema,
  HealthListResponseSchema,
} from "#contract/gen/grpc/health/v1/health_pb.js";
import type { ServerContext } from "./server-context.ts";
import { decoded, frame } from "./frames.ts";
import type { Procedure } from "./rpc.ts";

/** How often watched readiness is looked at. */
const lookMs = 1000;

const domain = "platform";

const services: ReadonlySet<string> = new Set(["", ...methods.map((method) => method.service)]);

const response = (status: Serving): Uint8Array => toBinary(HealthCheckResponseSchema, create(HealthCheckResponseSchema, { status }));

/** The health service's methods by path. */
export const health = (context: ServerContext): ReadonlyMap<string, Procedure> => {
  const look = async (service: string): Promise<Serving> => {
    if (!services.has(service)) return Serving.SERVICE_UNKNOWN;
    if (context.draining()) return Serving.NOT_SERVING;
    return (await context.dependencies.ready()) ? Serving.SERVING : Serving.NOT_SERVING;
  };

  const check: Procedure = {
    unary: true,
    domain,
    open: (line) => ({
      message: async (bytes) => {
        const { service } = decoded(HealthCheckRequestSchema, bytes);
        const status = await look(service);
        if (status === Serving.SERVICE_UNKNOWN) throw new Fault("NOT_FOUND", `no service ${JSON.stringify(service)}`);
        line.reply(frame(response(status)));
      },
      end: () => {},
    }),
  };

  const list: Procedure = {
    unary: true,
    domain,
    open: (line) => ({
      message: async () => {
        const status = await look("");
        const statuses = Object.fromEntries([...services].map((service) => [service, create(HealthCheckResponseSchema, { status })]));
        line.reply(frame(toBinary(HealthListResponseSchema, create(HealthListResponseSchema, { statuses }))));
      },
      end: () => {},
    }),
  };

  const watch: Procedure = {
    unary: false,
    patient: true,
    domain,
    open: (line) => {
      let watching = false;
      let shown: Serving | undefined;
      const show = (status: Serving): void => {
        if (status !== shown) line.send(response(status));
        shown = status;
      };
      return {
        message: async (bytes) => {
          if (watching) throw new Fault("UNIMPLEMENTED", "Watch takes one request");
          watching = true;
          const { service } = decoded(HealthCheckRequestSchema, bytes);
          const timer = setInterval(
            () =>
              void look(service)
                .then(show)
                .catch((thrown: unknown) => line.end(toFault(thrown))),
            lookMs,
          );
          const forget = context.onDrain(() => {
            show(services.has(service) ? Serving.NOT_SERVING : Serving.SERVICE_UNKNOWN);
            line.end(new Fault("UNAVAILABLE", "the server is stopping"));
          });
          line.onClose(() => {
            clearInterval(timer);
            forget();
          });
          show(await look(service));
        },
        // The caller says nothing more and goes on listening.
        end: () => {
          if (!watching) throw new Fault("UNIMPLEMENTED", "Watch takes one request");
        },
      };
    },
  };

  const service = "/grpc.health.v1.Health";
  return new Map([
    [`${service}/Check`, check],
    [`${service}/List`, list],
    [`${service}/Watch`, watch],
  ]);
};
