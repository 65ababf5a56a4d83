// `npm run build [FOLDER]`: builds the installable package in dist/ or FOLDER, whose content is replaced. Node strips no types
// below node_modules, so it contains JavaScript with declarations, in the checkout's tree, with its own package.json. `npm pack
// ./dist` creates the archive.

import { execFileSync } from "node:child_process";
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly imports: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string>>;
  readonly bin: Readonly<Record<string, string>>;
  readonly [key: string]: unknown;
}

const root = join(import.meta.dirname, "..");
const dist = resolve(process.argv[2] ?? join(root, "dist"));
const readSource = (path: string): string => readFileSync(path, "utf8");
const manifest: Manifest = JSON.parse(readSource(join(root, "package.json")));
const modules: Readonly<Record<string, unknown>> = JSON.parse(readSource(join(root, "modules.json"))).modules;

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
  readonly [key: string]: unknown;
}

const isForDevelopment = (path: string): boolean => /(?:\.test|\.fixture)\.ts$|(?:^|\/)testing\.ts$|\.proto$|^contract\/vendor\/|^tools\//.test(path);

/** Copies other files read at run time: SQL, pages, documents, generated code, start scripts. */
const copyFiles = (): void => {
  const folders = [...new Set(Object.keys(modules).map((name) => name.split("/")[0] ?? ""))].filter((name) => name !== "tools");
  const paths = globSync([`{${folders.join(",")}}/**/*`, "docs/**/*.md", "docs/contents.json", "CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md"], {
    cwd: root,
    withFileTypes: true,
  })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
  for (const path of paths) {
    if (isForDevelopment(path) || (path.endsWith(".ts") && !path.endsWith(".d.ts"))) continue;
    mkdirSync(dirname(join(dist, path)), { recursive: true });
    cpSync(join(root, path), join(dist, path));
  }
};

/** Renames paths of started programs and threads, because tsc rewrites only imports. */
const renameStarted = (): void => {
  for (const path of globSync("**/*.js", { cwd: dist })) {
    const source = readSource(join(dist, path));
    const renamed = source.replaceAll(/"((?:\.{1,2}\/)?[\w/-]+)\.ts"/g, (whole, name: string) => {
      const places = path.startsWith("bin/") ? ["cli"] : [dirname(path)];
      return places.some((place) => existsSync(join(dist, place, `${name}.js`))) ? `"${name}.js"` : whole;
    });
    if (renamed !== source) writeFileSync(join(dist, path), renamed);
  }
};

const compiled = (path: string): string => path.replace(/\.ts$/, ".js");

/** "#base/*" accepts .ts and, for generated code, .js; in the package both are .js. */
const importsOf = (imports: Manifest["imports"]): Record<string, string> =>
  Object.fromEntries(
    Object.entries(imports).flatMap(([name, target]) =>
      name.endsWith("*")
        ? [
            [`${name}.ts`, `${target}.js`],
            [`${name}.js`, `${target}.js`],
          ]
        : [[name, compiled(target)]],
    ),
  );

const exportsOf = (exports: Manifest["exports"]): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(exports).map(([name, target]) => {
      const file = compiled(target);
      return [name, file.endsWith(".js") ? { types: file.replace(/\.js$/, ".d.ts"), default: file } : file];
    }),
  );

/** Pins all dependencies with checksums for npm. */
const writeShrinkwrap = (): void => {
  const { packages, ...head }: LockFile = JSON.parse(readSource(join(root, "package-lock.json")));
  const { "": _checkout, ...needed } = Object.fromEntries(Object.entries(packages).filter(([, { dev }]) => dev !== true));
  const { name, version, license, bin, engines, dependencies, optionalDependencies } = manifest;
  const own = { name, version, license, dependencies, bin, engines, optionalDependencies };
  writeFileSync(join(dist, "npm-shrinkwrap.json"), `${JSON.stringify({ ...head, packages: { "": own, ...needed } }, null, 2)}\n`);
};

const writeManifest = (): void => {
  const { private: _private, scripts: _scripts, devDependencies: _dev, allowScripts: _allow, imports, exports, ...kept } = manifest;
  const packed = { ...kept, imports: importsOf(imports), exports: exportsOf(exports) };
  writeFileSync(join(dist, "package.json"), `${JSON.stringify(packed, null, 2)}\n`);
};

rmSync(dist, { recursive: true, force: true });
execFileSync(process.execPath, [join(root, "node_modules", "typescript", "bin", "tsc"), "-p", "tsconfig.build.json", "--outDir", dist], {
  cwd: root,
  stdio: "inherit",
});
copyFiles();
renameStarted();
writeManifest();
writeShrinkwrap();
process.stdout.write(`${manifest.name} ${manifest.version}; this makes the archive:  npm pack ${dist}\n`);
