// Guides on one server, in another order than that of the contents, with how-to pages between them.

import { testGuides } from "./test-guide.ts";

testGuides(["../how-to/permission-denied.md", "../how-to/migrate-images.md", "advisories.md", "registry.md"], ["skopeo", "tar"]);
testGuides(["README.md"], ["skopeo", "tar"]);
testGuides(["../how-to/author-advisories.md", "../how-to/grant-roles.md", "../how-to/migrate-from-version-1.md"]);
