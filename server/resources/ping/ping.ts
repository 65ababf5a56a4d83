// Is anybody there?

import { PingResponseSchema, PingService } from "#contract/gen/chainguard/platform/ping/v2/ping_pb.js";
import { resource } from "#kernel";

export const ping = resource({
  service: PingService,
  message: PingResponseSchema,
  methods: { Ping: { reads: async () => ({ reply: { response: "pong" } }) } },
});
