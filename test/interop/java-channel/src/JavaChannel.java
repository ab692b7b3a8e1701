import com.google.gson.Gson;
import com.google.gson.reflect.TypeToken;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ConnectivityState;
import io.grpc.Deadline;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.internal.GrpcUtil;
import io.grpc.internal.JsonParser;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Makes calls through a stock grpc-java channel, as it is told on standard input. The lines are those that go-channel/main.go
 * tells.
 */
public final class JavaChannel {
  private static final class Request {
    int seq;
    String op = "";
    String channel = "";
    String target = "";
    /** The configuration's text, as it stands. */
    String serviceConfig;
    String method = "";
    /** Of send, finish and cancel: the seq of the call. */
    int call;
    /** unary, or clientStream. */
    String kind = "unary";
    String message = "";
    /** Binary values in base64. */
    List<List<String>> metadata = List.of();
    /** Each message is compressed. */
    boolean gzip;
    /** The channel's own retries are off. */
    boolean noRetries;
    /** From the start of the call; null for none. */
    Long deadlineMs;
  }

  private static final class Reply {
    final int seq;
    String configRejected;
    Integer status;
    String message = "";
    List<String> messages;
    /** The values of one key in their order. */
    List<List<String>> headers;

    List<List<String>> trailers;
    /** From the call's start to its status. */
    Double tookMs;
    /** The line could not be carried out: a fault of the one who sent it. */
    String fault;

    Reply(int seq) {
      this.seq = seq;
    }

    static Reply fault(int seq, String what) {
      Reply reply = new Reply(seq);
      reply.fault = what;
      return reply;
    }
  }

  private static final class RawBytes implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] value) {
      return new ByteArrayInputStream(value);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return stream.readAllBytes();
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }
  }

  private static final long PER_CALL_BUFFER_LIMIT = 256 * 1024;
  private static final long CONNECT_BOUND = TimeUnit.SECONDS.toNanos(5);
  private static final Gson GSON = new Gson();

  private final Map<String, ManagedChannel> channels = new ConcurrentHashMap<>();
  /** Those that are not over, by seq. */
  private final Map<Integer, ClientCall<byte[], byte[]>> calls = new ConcurrentHashMap<>();
  private static synchronized void say(Reply reply) {
    System.out.println(GSON.toJson(reply));
    System.out.flush();
  }

  /** As a name resolver's text is read: numbers become Double, which is what defaultServiceConfig asks for. */
  @SuppressWarnings("unchecked")
  private static Map<String, ?> config(String text) throws IOException {
    return (Map<String, ?>) JsonParser.parse(text);
  }

  private void open(Request request) {
    Reply reply = new Reply(request.seq);
    try {
      ManagedChannelBuilder<?> builder =
          ManagedChannelBuilder.forTarget(request.target)
              .usePlaintext()
              .enableRetry()
              // The configuration is the one given here; a name resolver's is not looked for.
              .disableServiceConfigLookUp()
              // As hedgerow and grpc-go have it by default; A6 leaves it to each.
              .perRpcBufferLimit(PER_CALL_BUFFER_LIMIT)
              .proxyDetector(address -> null);
      if (request.noRetries) {
        builder.disableRetry();
      }
      if (request.serviceConfig != null) {
        builder.defaultServiceConfig(config(request.serviceConfig));
      }
      ManagedChannel channel = builder.build();
      channels.put(request.channel, channel);
      sayWhenConnected(channel, reply, System.nanoTime());
      return;
    } catch (IOException | RuntimeException error) {
      // The library's reader of JSON, the check of the types and the parse of a default configuration all tell by throwing.
      reply.configRejected = String.valueOf(error.getMessage()).lines().findFirst().orElse("");
    }
    say(reply);
  }

  /** Times in the cases begin with a connection that is up; after CONNECT_BOUND the calls go on without. */
  private static void sayWhenConnected(ManagedChannel channel, Reply reply, long begin) {
    ConnectivityState state = channel.getState(true);
    if (state == ConnectivityState.READY || System.nanoTime() - begin > CONNECT_BOUND) {
      say(reply);
    } else {
      channel.notifyWhenStateChanged(state, () -> sayWhenConnected(channel, reply, begin));
    }
  }

  /** Binary values in base64, as on the wire. */
  private static List<List<String>> lines(Metadata from) {
    List<List<String>> to = new ArrayList<>();
    for (String key : from.keys()) {
      if (key.endsWith(Metadata.BINARY_HEADER_SUFFIX)) {
        for (byte[] value : from.getAll(Metadata.Key.of(key, Metadata.BINARY_BYTE_MARSHALLER))) {
          to.add(List.of(key, Base64.getEncoder().encodeToString(value)));
        }
        continue;
      }
      for (String value : from.getAll(Metadata.Key.of(key, Metadata.ASCII_STRING_MARSHALLER))) {
        to.add(List.of(key, value));
      }
    }
    return to;
  }

  private void call(Request request, ManagedChannel channel) {
    MethodDescriptor<byte[], byte[]> method =
        MethodDescriptor.<byte[], byte[]>newBuilder()
            .setType(
                request.kind.equals("unary")
                    ? MethodDescriptor.MethodType.UNARY
                    : MethodDescriptor.MethodType.CLIENT_STREAMING)
            .setFullMethodName(request.method.substring(1))
            .setRequestMarshaller(new RawBytes())
            .setResponseMarshaller(new RawBytes())
            .build();
    CallOptions options = CallOptions.DEFAULT;
    if (request.deadlineMs != null) {
      options = options.withDeadline(Deadline.after(request.deadlineMs, TimeUnit.MILLISECONDS));
    }
    if (request.gzip) {
      options = options.withCompression("gzip");
    }
    Metadata headers = new Metadata();
    for (List<String> pair : request.metadata) {
      if (pair.get(0).endsWith(Metadata.BINARY_HEADER_SUFFIX)) {
        headers.put(
            Metadata.Key.of(pair.get(0), Metadata.BINARY_BYTE_MARSHALLER), Base64.getDecoder().decode(pair.get(1)));
      } else {
        headers.put(Metadata.Key.of(pair.get(0), Metadata.ASCII_STRING_MARSHALLER), pair.get(1));
      }
    }
    ClientCall<byte[], byte[]> call = channel.newCall(method, options);
    calls.put(request.seq, call);
    long begin = System.nanoTime();
    call.start(
        new ClientCall.Listener<byte[]>() {
          private final List<String> messages = new ArrayList<>();
          private List<List<String>> headers = List.of();

          @Override
          public void onHeaders(Metadata given) {
            headers = lines(given);
          }

          @Override
          public void onMessage(byte[] message) {
            messages.add(new String(message, StandardCharsets.UTF_8));
          }

          @Override
          public void onClose(Status status, Metadata trailers) {
            Reply reply = new Reply(request.seq);
            reply.tookMs = (System.nanoTime() - begin) / 1e6;
            reply.status = status.getCode().value();
            reply.message = status.getDescription() == null ? "" : status.getDescription();
            reply.messages = messages;
            reply.headers = headers;
            reply.trailers = lines(trailers);
            calls.remove(request.seq);
            say(reply);
          }
        },
        headers);
    if (request.gzip) {
      call.setMessageCompression(true);
    }
    // Two, as the stub of a call with one answer asks for: it would tell a second one as an error.
    call.request(2);
    if (request.kind.equals("unary")) {
      send(call, request.message);
      finish(call);
    }
  }

  /** A call that is cancelled takes no message and no end of them; its onClose tells. */
  private static void send(ClientCall<byte[], byte[]> call, String message) {
    try {
      call.sendMessage(message.getBytes(StandardCharsets.UTF_8));
    } catch (IllegalStateException over) {
      return;
    }
  }

  private static void finish(ClientCall<byte[], byte[]> call) {
    try {
      call.halfClose();
    } catch (IllegalStateException over) {
      return;
    }
  }

  private void close(Request request, ManagedChannel channel) {
    channels.remove(request.channel);
    channel.shutdownNow();
    say(new Reply(request.seq));
  }

  private void carryOut(Request request) {
    ManagedChannel channel = channels.get(request.channel);
    if (request.op.equals("version")) {
      Reply reply = new Reply(request.seq);
      reply.message = GrpcUtil.IMPLEMENTATION_VERSION;
      say(reply);
    } else if (request.op.equals("open") && channel == null) {
      open(request);
    } else if (request.op.equals("call") && channel != null) {
      call(request, channel);
    } else if (request.op.equals("send") || request.op.equals("finish") || request.op.equals("cancel")) {
      ClientCall<byte[], byte[]> call = calls.get(request.call);
      if (call == null) {
        return; // It is over.
      }
      if (request.op.equals("send")) {
        send(call, request.message);
      } else if (request.op.equals("finish")) {
        finish(call);
      } else {
        call.cancel("as told", null);
      }
    } else if (request.op.equals("close") && channel != null) {
      close(request, channel);
    } else {
      say(Reply.fault(request.seq, "cannot do op " + request.op + " for channel " + request.channel));
    }
  }

  public static void main(String[] args) throws IOException {
    JavaChannel peer = new JavaChannel();
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      Request request = new Request();
      try {
        request = GSON.fromJson(line, TypeToken.get(Request.class));
        peer.carryOut(request);
      } catch (RuntimeException error) {
        say(Reply.fault(request.seq, String.valueOf(error)));
      }
    }
    System.exit(0);
  }
}
