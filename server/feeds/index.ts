// The face of the room: foreign files become calls of the kernel.

export { importRegistry, type RegistryImport, type RegistrySummary } from "./registry.ts";
