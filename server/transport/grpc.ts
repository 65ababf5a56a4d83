// All that gRPC needs. The first HTTP/2 connection loads it: descriptors, codecs and open services would be a fifth of a start, and many
// servers speak REST alone.

import { healthService } from "./health.ts";
import { reflectionService } from "./reflection.ts";
import { grpcTransport } from "./rpc.ts";
import type { ServerContext } from "./server-context.ts";

export type GrpcTransport = ReturnType<typeof grpcTransport>;

export const openGrpc = (context: ServerContext): GrpcTransport => grpcTransport(context, new Map([...healthService(context), ...reflectionService(context)]));
