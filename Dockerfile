# syntax=docker/dockerfile:1

FROM node:20-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY docs/troubleshooting.md docs/
COPY scripts/finish-build.mjs scripts/
COPY src src
RUN npm run build && npm prune --omit=dev

FROM node:20-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
# The demo reads both.
COPY protos protos
COPY service-config.json LICENSE ./
USER node
EXPOSE 50051 9901
ENTRYPOINT ["node", "/app/dist/main.js"]
CMD ["serve"]
