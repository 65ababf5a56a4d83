// Everything for gRPC, loaded by the first HTTP/2 connection: descriptors, codecs and open services would take a fifth of a start, and
// many servers use REST only.

import { healthService } from "./health.ts";
import { reflectionService } from "./reflection.ts";
import { grpcTransport } from "./rpc.ts";
import type { ServerContext } from "./server-context.ts";

export type GrpcTransport = ReturnType<typeof grpcTransport>;

export const openGrpc = (context: ServerContext): GrpcTransport => grpcTransport(context, new Map([...healthService(context), ...reflectionService(context)]));
