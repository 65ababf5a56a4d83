// grpc.health.v1: readiness, checked once or watched. Open, because load balancers have no token.

import { create, toBinary } from "@bufbuild/protobuf";
import { Fault, toFault } from "#base/fault.ts";
import { methods, version1 } from "#contract/catalog.ts";
import {
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as Serving,
  HealthCheckResponseSchema,
  HealthListResponseSchema,
} from "#contract/gen/grpc/health/v1/health_pb.js";
import { decodeMessage, frameMessage } from "./frames.ts";
import type { Procedure, StreamingProcedure, UnaryProcedure } from "./rpc.ts";
import type { ServerContext } from "./server-context.ts";

const watchIntervalMs = 1000;

const domain = "platform";

const serviceNames: ReadonlySet<string> = new Set(["", ...[...methods, ...version1].map((method) => method.service)]);

const statusMessage = (status: Serving): Uint8Array => toBinary(HealthCheckResponseSchema, create(HealthCheckResponseSchema, { status }));

export const healthService = (context: ServerContext): ReadonlyMap<string, Procedure> => {
  const statusOf = async (service: string): Promise<Serving> => {
    if (!serviceNames.has(service)) return Serving.SERVICE_UNKNOWN;
    if (context.draining()) return Serving.NOT_SERVING;
    return (await context.dependencies.ready()) ? Serving.SERVING : Serving.NOT_SERVING;
  };

  const check: UnaryProcedure = {
    kind: "unary",
    domain,
    answer: async (call) => {
      const { service } = decodeMessage(HealthCheckRequestSchema, await call.readMessage());
      const status = await statusOf(service);
      if (status === Serving.SERVICE_UNKNOWN) throw new Fault("NOT_FOUND", `no service ${JSON.stringify(service)}`);
      return { framed: frameMessage(statusMessage(status)) };
    },
  };

  const list: UnaryProcedure = {
    kind: "unary",
    domain,
    answer: async (call) => {
      await call.readMessage();
      const status = await statusOf("");
      const statuses = Object.fromEntries([...serviceNames].map((service) => [service, create(HealthCheckResponseSchema, { status })]));
      return { framed: frameMessage(toBinary(HealthListResponseSchema, create(HealthListResponseSchema, { statuses }))) };
    },
  };

  const watch: StreamingProcedure = {
    kind: "streaming",
    neverIdle: true,
    domain,
    open: (call) => {
      let watching = false;
      let lastSent: Serving | undefined;
      const sendChange = (status: Serving): void => {
        if (status !== lastSent) call.send(statusMessage(status));
        lastSent = status;
      };
      return {
        message: async (bytes) => {
          if (watching) throw new Fault("UNIMPLEMENTED", "Watch accepts one request");
          watching = true;
          const { service } = decodeMessage(HealthCheckRequestSchema, bytes);
          const timer = setInterval(
            () =>
              void statusOf(service)
                .then(sendChange)
                .catch((thrown: unknown) => call.end(toFault(thrown))),
            watchIntervalMs,
          );
          const offDrain = context.onDrain(() => {
            sendChange(serviceNames.has(service) ? Serving.NOT_SERVING : Serving.SERVICE_UNKNOWN);
            call.end(new Fault("UNAVAILABLE", "the server is stopping"));
          });
          call.onClose(() => {
            clearInterval(timer);
            offDrain();
          });
          sendChange(await statusOf(service));
        },
        // The client may close its side and still receive updates.
        end: () => {
          if (!watching) throw new Fault("UNIMPLEMENTED", "Watch accepts one request");
        },
      };
    },
  };

  const service = "/grpc.health.v1.Health";
  return new Map<string, Procedure>([
    [`${service}/Check`, check],
    [`${service}/List`, list],
    [`${service}/Watch`, watch],
  ]);
};
