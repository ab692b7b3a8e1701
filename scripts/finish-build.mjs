/**
 * After tsc: the program's file may be run as it is, and the dashboard stands beside it, ready for a browser.
 * `node scripts/finish-build.mjs [DIST]`.
 */
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { marked } from 'marked';
import ts from 'typescript';

const root = fileURLToPath(new URL('../', import.meta.url));
const dist = process.argv[2] ?? path.join(root, 'dist');
const source = path.join(root, 'src/dashboard');
const target = path.join(dist, 'dashboard');

chmodSync(path.join(dist, 'main.js'), 0o755);
mkdirSync(target, { recursive: true });

// Module by module, as they stand; `npm run types` has checked them against what a browser has (tsconfig.dashboard.json).
for (const name of readdirSync(source)) {
  if (!name.endsWith('.ts')) continue;
  const { outputText } = ts.transpileModule(readFileSync(path.join(source, name), 'utf8'), {
    compilerOptions: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ES2022,
      verbatimModuleSyntax: true,
    },
  });
  writeFileSync(path.join(target, name.replace(/\.ts$/, '.js')), outputText);
}
for (const name of readdirSync(source).filter((one) => /\.(html|css|svg)$/.test(one)))
  copyFileSync(path.join(source, name), path.join(target, name));
const uplot = path.join(root, 'node_modules/uplot/dist');
copyFileSync(path.join(uplot, 'uPlot.iife.min.js'), path.join(target, 'uplot.js'));
copyFileSync(path.join(uplot, 'uPlot.min.css'), path.join(target, 'uplot.css'));

const document = path.join(root, 'docs/troubleshooting.md');
if (existsSync(document))
  writeFileSync(path.join(target, 'troubleshooting.html'), pageOf(readFileSync(document, 'utf8')));

/**
 * A heading that is a stop reason, with or without the backticks, is where `/troubleshooting#REASON` leads.
 *
 * @param {string} markdown
 */
function pageOf(markdown) {
  const body = marked
    .parse(markdown, { async: false })
    // The other documents are not served: they are named as they stand beside the program. Code that is wide is scrolled with
    // the keyboard too.
    .replace(/<a href="([^":#]+\.md)(?:#[^"]*)?">.*?<\/a>/g, '<code>docs/$1</code>')
    .replaceAll('<pre>', '<pre tabindex="0">')
    .replace(
      /<h([1-6])>(.*?)<\/h\1>/g,
      (_whole, level, text) => `<h${level} id="${anchorOf(text)}">${text}</h${level}>`,
    );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Troubleshooting – hedgerow</title>
<link rel="icon" href="dashboard/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="dashboard/style.css">
<script src="dashboard/theme.js" type="module"></script>
</head>
<body>
<header class="top"><p class="brand"><img src="dashboard/icon.svg" alt="" width="24" height="24"> <a href="./">hedgerow</a></p></header>
<main class="document">
${body}</main>
</body>
</html>
`;
}

/** As GitHub makes them, so that a link in the repository and one here are the same. @param {string} html */
function anchorOf(html) {
  return html
    .replace(/<[^>]*>/g, '')
    .replace(/&[a-z#0-9]+;/g, '')
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
}
